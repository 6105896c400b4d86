// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "server/core/study_sections.h"

namespace stepcurve {

// Steps of one study. `batch_sizes`: of its workload; budget.per_batch_size may name these and no other.
absl::StatusOr<int64_t> PlanBudget(const Placed<std::optional<BudgetSpec>>& budget, const StudyKey& study,
                                   const std::vector<int64_t>& batch_sizes);

}  // namespace stepcurve
