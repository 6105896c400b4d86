// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/core/study_sections.h"
#include "server/core/sweep_plan.h"

namespace stepcurve {

// Fills in what a study's search section says: sampler, seed, split, space and points. Workload, batch size, budget and
// schedule must be there. `workloads` and `batch_sizes`: of the whole sweep.
absl::Status PlanSearch(const PlacedSearch& search, const std::vector<Workload>& workloads,
                        const std::vector<int64_t>& batch_sizes, StudyDefinition& study);

// The strands of a study whose search is planned: one, or one per value that is split.
absl::StatusOr<std::vector<StrandPlan>> PlanStrands(const PlacedSearch& search, const StudyDefinition& study);

}  // namespace stepcurve
