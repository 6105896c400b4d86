// SPDX-License-Identifier: Apache-2.0
#include "server/api/curve_request.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/support/status_macros.h"
#include "server/api/request_checks.h"
#include "server/core/field_error.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

constexpr int kMaxGoals = 64;
constexpr int kMaxSweeps = 64;

std::vector<std::string> SweepNames(const std::vector<CurveStudy>& studies) {
  std::vector<std::string> names;
  for (const CurveStudy& study : studies) {
    if (std::find(names.begin(), names.end(), study.sweep_name) == names.end()) names.push_back(study.sweep_name);
  }
  return names;
}

// Ids of the sweeps chosen, in the order asked for.
absl::StatusOr<std::vector<int64_t>> ChooseSweeps(const CurveQuery& query, const std::vector<CurveStudy>& studies) {
  std::vector<int64_t> chosen;
  const auto choose = [&](int64_t sweep) {
    if (std::find(chosen.begin(), chosen.end(), sweep) == chosen.end()) chosen.push_back(sweep);
  };
  if (!query.sweeps.empty()) {
    for (const std::string& wanted : query.sweeps) {
      const auto found = std::find_if(studies.begin(), studies.end(), [&](const CurveStudy& study) {
        return study.sweep_name == wanted || absl::StrCat(study.sweep) == wanted;
      });
      if (found == studies.end()) {
        return absl::NotFoundError(absl::StrFormat("no sweep %s with workload %s; sweeps that have it: %s", wanted,
                                                   query.workload, absl::StrJoin(SweepNames(studies), ", ")));
      }
      choose(found->sweep);
    }
    return chosen;
  }
  std::vector<CurveStudy> answering;
  for (const CurveStudy& study : studies) {
    if (!study.child) answering.push_back(study);
  }
  for (const CurveStudy& study : answering) choose(study.sweep);
  if (chosen.empty()) {
    return absl::NotFoundError(absl::StrFormat("workload %s is only in sweeps that answer by name: %s", query.workload,
                                               absl::StrJoin(SweepNames(studies), ", ")));
  }
  if (chosen.size() > 1 && !query.all_sweeps) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%d sweeps have workload %s; choose among them, or take all: %s", chosen.size(), query.workload,
                        absl::StrJoin(SweepNames(answering), ", ")));
  }
  return chosen;
}

absl::Status CheckMetrics(const CurveQuery& query, const std::vector<CurveScope>& scopes) {
  std::set<std::string> metrics;
  for (const CurveScope& scope : scopes) {
    for (const CurveStudy& study : scope.studies) {
      metrics.insert(study.definition.metrics.begin(), study.definition.metrics.end());
    }
  }
  for (size_t i = 0; i < query.goals.size(); ++i) {
    if (metrics.count(query.goals[i].metric) == 0) {
      return FieldError(absl::StrCat("goals[", i, "].metric"),
                        absl::StrFormat("is %s, which %s does not have; it has: %s", query.goals[i].metric,
                                        query.workload, absl::StrJoin(metrics, ", ")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CurveQuery> ParseCurveRequest(const v1::GetCurveRequest& request) {
  CurveQuery query{.workload = request.workload(),
                   .all_sweeps = request.all_sweeps(),
                   .pool = request.pool(),
                   .first_trials = request.first_trials(),
                   .include_incomplete = request.include_incomplete(),
                   .include_infeasible = request.include_infeasible(),
                   .include_running = request.include_running()};
  STEPCURVE_RETURN_IF_ERROR(CheckName("workload", request.workload()));
  if (request.goals_size() < 1 || request.goals_size() > kMaxGoals) {
    return FieldError("goals",
                      absl::StrFormat("has %d entries; it must have 1 to %d", request.goals_size(), kMaxGoals));
  }
  for (int i = 0; i < request.goals_size(); ++i) {
    STEPCURVE_ASSIGN_OR_RETURN(Goal goal, CheckGoal(absl::StrCat("goals[", i, "]"), request.goals(i)));
    query.goals.push_back(std::move(goal));
  }
  if (request.sweeps_size() > kMaxSweeps) {
    return FieldError("sweeps",
                      absl::StrFormat("has %d entries; at most %d are allowed", request.sweeps_size(), kMaxSweeps));
  }
  for (int i = 0; i < request.sweeps_size(); ++i) {
    STEPCURVE_RETURN_IF_ERROR(CheckName(absl::StrCat("sweeps[", i, "]"), request.sweeps(i)));
    query.sweeps.push_back(request.sweeps(i));
  }
  if (request.all_sweeps() && request.sweeps_size() > 0) {
    return FieldError("all_sweeps", "is true beside sweeps; give one of the two");
  }
  if (request.semantics() != v1::SEMANTICS_UNSPECIFIED) {
    query.semantics = FromProto(request.semantics());
    if (!query.semantics.has_value()) {
      return FieldError("semantics", absl::StrFormat("is %d; it must be PUBLISHED, REACHED or unspecified",
                                                     static_cast<int>(request.semantics())));
    }
  }
  STEPCURVE_RETURN_IF_ERROR(CheckAtLeastZero("first_trials", request.first_trials()));
  return query;
}

absl::StatusOr<std::vector<CurveScope>> ChooseStudies(const CurveQuery& query, std::vector<CurveStudy> studies) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps, ChooseSweeps(query, studies));
  std::map<int64_t, CurveScope> by_sweep;
  for (CurveStudy& study : studies) {
    CurveScope& scope = by_sweep[study.sweep];
    scope.semantics = query.semantics.value_or(study.semantics);
    scope.studies.push_back(std::move(study));
  }
  std::vector<CurveScope> scopes;
  for (const int64_t sweep : sweeps) scopes.push_back(std::move(by_sweep[sweep]));
  STEPCURVE_RETURN_IF_ERROR(CheckMetrics(query, scopes));
  if (!query.pool) return scopes;

  CurveScope pooled{.semantics = scopes[0].semantics};
  for (CurveScope& scope : scopes) {
    if (scope.semantics != pooled.semantics) {
      return FieldError("semantics", "is unspecified; the sweeps to pool differ in theirs, so name one");
    }
    std::move(scope.studies.begin(), scope.studies.end(), std::back_inserter(pooled.studies));
  }
  std::sort(pooled.studies.begin(), pooled.studies.end(), [](const CurveStudy& a, const CurveStudy& b) {
    return std::tie(a.definition.batch_size, a.study) < std::tie(b.definition.batch_size, b.study);
  });
  std::vector<CurveScope> one;
  one.push_back(std::move(pooled));
  return one;
}

TrialSelection SelectionOf(const CurveQuery& query, Semantics semantics) {
  const bool reached = semantics == Semantics::kReached;
  std::vector<TrialState> states;
  if (query.include_running) states.push_back(TrialState::kRunning);
  states.push_back(TrialState::kComplete);
  if (reached || query.include_infeasible) states.push_back(TrialState::kInfeasible);
  if (reached || query.include_incomplete) states.push_back(TrialState::kStopped);
  if (query.include_incomplete) {
    states.push_back(TrialState::kFailed);
    states.push_back(TrialState::kCancelled);
  }
  return {.states = std::move(states), .first = query.first_trials};
}

}  // namespace stepcurve
