// SPDX-License-Identifier: Apache-2.0
//
// What a GetCurveRequest asks for, checked and resolved against the studies that there are.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/support/goal.h"
#include "server/store/curve_store.h"
#include "stepcurve/v1/curve_service.pb.h"

namespace stepcurve {

struct CurveQuery {
  std::string workload;
  std::vector<Goal> goals;
  std::vector<std::string> sweeps;  // Names or ids; empty: all, or the only one.
  bool all_sweeps = false;
  bool pool = false;
  std::optional<Semantics> semantics;  // Absent: the sweeps' own.
  int64_t first_trials = 0;
  bool include_incomplete = false;
  bool include_infeasible = false;
  bool include_running = false;
};

// INVALID_ARGUMENT names the field.
absl::StatusOr<CurveQuery> ParseCurveRequest(const v1::GetCurveRequest& request);

// The studies that one curve is taken over, and how. By batch size; within one by sweep, oldest first.
struct CurveScope {
  std::vector<CurveStudy> studies;
  Semantics semantics = Semantics::kPublished;
};

// One scope per chosen sweep, in the order asked for, or one for all with `pool`. `studies`: all of the workload,
// newest sweep first; not empty. Sweeps that answer only by name (children) are left out unless named. NOT_FOUND when a
// sweep named does not have the workload; FAILED_PRECONDITION when several have it and none is chosen; INVALID_ARGUMENT
// when sweeps of different semantics are pooled and the query names none, or when no study chosen has a goal's metric.
absl::StatusOr<std::vector<CurveScope>> ChooseStudies(const CurveQuery& query, std::vector<CurveStudy> studies);

// Which trials the query admits: PUBLISHED those COMPLETE; REACHED also STOPPED and INFEASIBLE ones; then what the
// query includes.
TrialSelection SelectionOf(const CurveQuery& query, Semantics semantics);

}  // namespace stepcurve
