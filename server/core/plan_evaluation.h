// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "proto/support/evaluation_grid.h"
#include "proto/support/goal.h"
#include "server/core/study_sections.h"

namespace stepcurve {

struct PlannedEvaluation {
  EvaluationGrid grid;
  std::vector<std::string> metrics;  // Of the splits that are evaluated.
  std::vector<std::pair<std::string, int64_t>> split_intervals;
  int64_t train_examples = 0;
};

absl::StatusOr<PlannedEvaluation> PlanEvaluation(const Placed<EvaluationSpec>& evaluation, const StudyKey& study,
                                                 int64_t budget_steps);

// Goals of one study; each must be about one of `metrics`.
absl::StatusOr<std::vector<Goal>> PlanGoals(const Placed<std::vector<std::string>>& goals, const Workload& workload,
                                            const std::vector<std::string>& metrics);

}  // namespace stepcurve
