// SPDX-License-Identifier: Apache-2.0
#include "server/api/trial_scope.h"

#include <algorithm>
#include <utility>

#include "proto/support/catalogue.h"
#include "proto/support/status_macros.h"

namespace stepcurve {

const StudyRow& TrialScope::StudyOf(const TrialRow& trial) const {
  return *std::find_if(studies.begin(), studies.end(), [&](const StudyRow& study) { return study.id == trial.study; });
}

std::optional<int> MetricIndex(const StudyRow& study, const std::string& metric) {
  const std::vector<std::string>& metrics = study.definition.metrics;
  const auto found = std::find(metrics.begin(), metrics.end(), metric);
  if (found == metrics.end()) return std::nullopt;
  return static_cast<int>(found - metrics.begin());
}

absl::StatusOr<absl::flat_hash_map<int64_t, Staircase>> GoalStaircases(CurveStore& curves, const TrialScope& scope,
                                                                       const std::vector<TrialRow>& rows) {
  // Studies may order their metrics differently.
  absl::flat_hash_map<int, std::vector<int64_t>> trials;
  for (const TrialRow& row : rows) {
    const std::optional<int> metric = MetricIndex(scope.StudyOf(row), scope.goal->metric);
    if (metric.has_value()) trials[*metric].push_back(row.id);
  }
  absl::flat_hash_map<int64_t, Staircase> all;
  for (const auto& [metric, ids] : trials) {
    STEPCURVE_ASSIGN_OR_RETURN(auto some, curves.Staircases(ids, metric, !scope.goal->falling()));
    for (auto& [id, stairs] : some) all[id] = std::move(stairs);
  }
  return all;
}

void AddBests(const StudyRow& study, const std::vector<std::optional<Best>>& bests, v1::Trial& trial) {
  const std::vector<std::string>& metrics = study.definition.metrics;
  for (size_t m = 0; m < metrics.size(); ++m) {
    const size_t k = 2 * m + (LargerIsBetter(metrics[m]) ? 1 : 0);
    if (k >= bests.size() || !bests[k].has_value()) continue;
    v1::BestValue* best = trial.add_best();
    best->set_metric(metrics[m]);
    best->set_value(bests[k]->value);
    best->set_step(bests[k]->step);
  }
}

std::vector<std::optional<Best>> BestsOf(const TrialStaircases& stairs) {
  std::vector<std::optional<Best>> bests;
  for (int m = 0; m < stairs.metrics(); ++m) {
    for (const Staircase* one : {&stairs.falling(m), &stairs.rising(m)}) {
      bests.push_back(one->steps.empty() ? std::nullopt : std::optional<Best>({one->steps.back(), one->values.back()}));
    }
  }
  return bests;
}

}  // namespace stepcurve
