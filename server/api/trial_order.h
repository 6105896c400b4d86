// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/api/trial_scope.h"

namespace stepcurve {

// Where a trial stands in an ordered list: trials without a key come last, ties go by study, number and repeat.
struct OrderedTrial {
  std::optional<double> key;
  TrialRow row;
};

// What a list may be ordered by: "steps" (to the goal), "value" (best of the goal's metric, in the goal's direction),
// or a metaparameter of every study of the scope. INVALID_ARGUMENT for anything else.
absl::Status CheckOrder(const std::string& order_by, const TrialScope& scope);

// Sorts trials. `goal_stairs`: by trial, for "steps" and "value".
std::vector<OrderedTrial> SortTrials(std::vector<TrialRow> rows, const std::string& order_by, bool descending,
                                     const TrialScope& scope,
                                     const absl::flat_hash_map<int64_t, Staircase>& goal_stairs);

// A trial's place as a page token keeps it, and the first trial after such a place.
inline constexpr size_t kOrderPlaceNumbers = 5;
std::vector<int64_t> OrderPlace(const OrderedTrial& trial);
size_t FirstAfter(const std::vector<OrderedTrial>& trials, const std::vector<int64_t>& place, bool descending);

}  // namespace stepcurve
