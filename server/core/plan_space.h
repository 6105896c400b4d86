// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "proto/support/catalogue.h"
#include "server/core/study_sections.h"
#include "server/search/sampler.h"

namespace stepcurve {

// The study that a search belongs to, as far as it decides which parameters exist and where they may lie.
struct SpaceContext {
  const Workload& workload;
  const std::vector<Workload>& workloads;  // Of the whole sweep, for the way out.
  std::string schedule;
  SamplerKind sampler = SamplerKind::kHalton;
  StudyScale scale;
};

// Checks a space entry by entry and as a whole: every parameter exists for the study, every required one is there, and
// all that can be drawn lies in the parameter's domain, once multiplied. A problem of one entry is reported at its
// path, a missing one at `space_path`.
absl::StatusOr<SearchSpace> PlanSpace(const std::vector<Placed<SpaceEntrySpec>>& entries, const std::string& space_path,
                                      const SpaceContext& study);

// Points of one study: a space that only names the parameters, and the table of their values, row-major.
struct PlannedPoints {
  SearchSpace space;
  std::vector<double> table;
};

// Checks a table of points and takes those for the study's batch size. `batch_sizes`: of all studies of the sweep,
// since a point may name one of them.
absl::StatusOr<PlannedPoints> PlanPoints(const PointsSpec& points, const std::string& path,
                                         const std::vector<int64_t>& batch_sizes, const SpaceContext& study);

// For both: the row of a parameter, or why the study has none of that name.
absl::StatusOr<ParameterRow> FindParameter(const std::string& name, const std::string& path, const SpaceContext& study);

// An error at `path` for a required parameter that `names` lacks.
absl::Status CheckRequired(const std::vector<std::string>& names, const std::string& path, const SpaceContext& study);

// Whether a parameter may have `value` in this study.
bool InDomain(const ParameterRow& row, double value, const StudyScale& scale);

// The same with a message; `what` begins it: "min 0".
absl::Status CheckDomain(const ParameterRow& row, double value, const std::string& what, const std::string& path,
                         const StudyScale& scale);

}  // namespace stepcurve
