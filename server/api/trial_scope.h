// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "proto/support/goal.h"
#include "server/store/curve_store.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/trial.pb.h"

namespace stepcurve {

// What a list of trials is about.
struct TrialScope {
  SweepRow sweep;
  std::vector<StudyRow> studies;
  std::vector<TrialState> states;  // Empty: all.
  std::optional<Goal> goal;
  int64_t page_size = 0;

  const StudyRow& StudyOf(const TrialRow& trial) const;
};

// Index of a metric in a study, if it has it.
std::optional<int> MetricIndex(const StudyRow& study, const std::string& metric);

// One staircase of the goal's metric per trial that has records, over the studies of a scope.
absl::StatusOr<absl::flat_hash_map<int64_t, Staircase>> GoalStaircases(CurveStore& curves, const TrialScope& scope,
                                                                       const std::vector<TrialRow>& rows);

// The best finite value of each metric, in its better direction, from a trial's last staircase entries.
void AddBests(const StudyRow& study, const std::vector<std::optional<Best>>& bests, v1::Trial& trial);

// The same of staircases.
std::vector<std::optional<Best>> BestsOf(const TrialStaircases& stairs);

}  // namespace stepcurve
