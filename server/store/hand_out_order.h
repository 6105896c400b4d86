// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/core/sweep_plan.h"

namespace stepcurve {

// A strand of a plan that is about to be written.
struct PlannedStrand {
  const StudyDefinition* definition = nullptr;
  int64_t study_id = 0;
  int64_t strand_id = 0;
  std::optional<double> split_value;
  int64_t initial = 0;       // Trials to make.
  int64_t first_number = 1;  // Of its first point within the study.
};

// Calls `insert` for the trials of all strands in the order in which claims will ask for them: the first trial of every
// strand, then the second of every strand, and so on. Rows that are granted together then lie on neighbouring pages.
// Holds a few trials of each strand in memory, not all.
void ForEachInHandOutOrder(const std::vector<PlannedStrand>& strands,
                           absl::FunctionRef<void(const PlannedStrand&, const NewTrial&)> insert);

}  // namespace stepcurve
