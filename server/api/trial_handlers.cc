// SPDX-License-Identifier: Apache-2.0
#include "server/api/trial_handlers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/support/status_macros.h"
#include "server/api/page_token.h"
#include "server/api/request_checks.h"
#include "server/api/row_to_proto.h"
#include "server/api/trial_lookup.h"
#include "server/api/trial_order.h"
#include "server/core/field_error.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

// Trials that may be ordered as a whole where they are of several studies.
constexpr int64_t kMaxOrdered = 10'000;

// The part of the request that a page token belongs to.
v1::ListTrialsRequest WithoutPage(const v1::ListTrialsRequest& request) {
  v1::ListTrialsRequest rest = request;
  rest.clear_page_size();
  rest.clear_page_token();
  return rest;
}

absl::StatusOr<std::vector<TrialState>> StatesOf(const v1::ListTrialsRequest& request) {
  std::vector<TrialState> states;
  for (int i = 0; i < request.states_size(); ++i) {
    const std::optional<TrialState> state = FromProto(request.states(i));
    if (!state.has_value()) {
      return FieldError(absl::StrCat("states[", i, "]"),
                        absl::StrFormat("is %d, which is no trial state", static_cast<int>(request.states(i))));
    }
    states.push_back(*state);
  }
  return states;
}

int64_t CountOf(const TrialScope& scope) {
  int64_t count = 0;
  for (const StudyRow& study : scope.studies) {
    for (size_t s = 0; s < kTrialStates; ++s) {
      const auto state = static_cast<TrialState>(s);
      const bool wanted =
          scope.states.empty() || std::find(scope.states.begin(), scope.states.end(), state) != scope.states.end();
      if (wanted) count += study.counts[state];
    }
  }
  return count;
}

std::vector<int64_t> StudyIdsOf(const TrialScope& scope) {
  std::vector<int64_t> ids;
  for (const StudyRow& study : scope.studies) ids.push_back(study.id);
  return ids;
}

}  // namespace

absl::StatusOr<TrialScope> TrialHandlers::Resolve(const v1::ListTrialsRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", request.sweep()));
  if (!request.workload().empty()) {
    STEPCURVE_RETURN_IF_ERROR(CheckName("workload", request.workload()));
  }
  STEPCURVE_RETURN_IF_ERROR(CheckAtLeastZero("batch_size", request.batch_size()));
  TrialScope scope;
  STEPCURVE_ASSIGN_OR_RETURN(scope.page_size, PageSize(request.page_size()));
  if (!request.goal().metric().empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(scope.goal, CheckGoal("goal", request.goal()));
  }
  STEPCURVE_ASSIGN_OR_RETURN(scope.sweep, options_.sweeps->Find(request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(scope.states, StatesOf(request));
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<StudyRow> studies, options_.sweeps->Studies(scope.sweep.id));
  STEPCURVE_ASSIGN_OR_RETURN(scope.studies,
                             StudiesOf(scope.sweep.name, std::move(studies), request.workload(), request.batch_size()));
  if (scope.goal.has_value() && std::none_of(scope.studies.begin(), scope.studies.end(), [&](const StudyRow& study) {
        return MetricIndex(study, scope.goal->metric).has_value();
      })) {
    return FieldError("goal.metric",
                      absl::StrFormat("is %s, which no study of sweep %s has", scope.goal->metric, scope.sweep.name));
  }
  return scope;
}

absl::StatusOr<v1::ListTrialsResponse> TrialHandlers::ListTrials(const v1::ListTrialsRequest& request) {
  STEPCURVE_ASSIGN_OR_RETURN(const TrialScope scope, Resolve(request));
  return request.order_by().empty() ? ByNumber(request, scope) : ByOrder(request, scope);
}

absl::StatusOr<v1::ListTrialsResponse> TrialHandlers::ByNumber(const v1::ListTrialsRequest& request,
                                                               const TrialScope& scope) {
  if (request.descending()) {
    return FieldError("descending", "is true without order_by; lists by number ascend");
  }
  TrialStore::Filter filter{.studies = StudyIdsOf(scope), .states = scope.states, .limit = scope.page_size + 1};
  if (!request.page_token().empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> place,
                               PlaceOf(request.page_token(), WithoutPage(request), 3));
    filter.after_study = place[0];
    filter.after_number = place[1];
    filter.after_repeat = static_cast<int32_t>(place[2]);
  }
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<TrialRow> rows, options_.trials->List(filter));
  v1::ListTrialsResponse response;
  if (static_cast<int64_t>(rows.size()) > scope.page_size) {
    rows.resize(scope.page_size);
    const TrialRow& last = rows.back();
    response.set_next_page_token(PageToken(WithoutPage(request), {last.study, last.number, last.repeat}));
  }
  STEPCURVE_RETURN_IF_ERROR(Fill(scope, rows, response));
  return response;
}

absl::StatusOr<v1::ListTrialsResponse> TrialHandlers::ByOrder(const v1::ListTrialsRequest& request,
                                                              const TrialScope& scope) {
  STEPCURVE_RETURN_IF_ERROR(CheckOrder(request.order_by(), scope));
  if (const int64_t count = CountOf(scope); scope.studies.size() > 1 && count > kMaxOrdered) {
    return FieldError("order_by", absl::StrFormat("is %s over %d trials; give workload and batch_size, or states that "
                                                  "leave at most %d",
                                                  request.order_by(), count, kMaxOrdered));
  }
  std::vector<int64_t> place;
  if (!request.page_token().empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(place, PlaceOf(request.page_token(), WithoutPage(request), kOrderPlaceNumbers));
  }
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<TrialRow> rows, AllOf(scope));
  absl::flat_hash_map<int64_t, Staircase> stairs;
  if (request.order_by() == "steps" || request.order_by() == "value") {
    STEPCURVE_ASSIGN_OR_RETURN(stairs, GoalStaircases(*options_.curves, scope, rows));
  }
  const std::vector<OrderedTrial> sorted =
      SortTrials(std::move(rows), request.order_by(), request.descending(), scope, stairs);

  const size_t begin = place.empty() ? 0 : FirstAfter(sorted, place, request.descending());
  const size_t end = std::min(sorted.size(), begin + static_cast<size_t>(scope.page_size));
  std::vector<TrialRow> page;
  for (size_t i = begin; i < end; ++i) page.push_back(sorted[i].row);
  v1::ListTrialsResponse response;
  if (end < sorted.size()) {
    response.set_next_page_token(PageToken(WithoutPage(request), OrderPlace(sorted[end - 1])));
  }
  STEPCURVE_RETURN_IF_ERROR(Fill(scope, page, response));
  return response;
}

absl::StatusOr<std::vector<TrialRow>> TrialHandlers::AllOf(const TrialScope& scope) {
  TrialStore::Filter filter{.studies = StudyIdsOf(scope), .states = scope.states, .limit = 5000};
  std::vector<TrialRow> all;
  while (true) {
    STEPCURVE_ASSIGN_OR_RETURN(std::vector<TrialRow> rows, options_.trials->List(filter));
    const bool more = static_cast<int64_t>(rows.size()) == filter.limit;
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
    if (!more) return all;
    filter.after_study = all.back().study;
    filter.after_number = all.back().number;
    filter.after_repeat = all.back().repeat;
  }
}

absl::Status TrialHandlers::Fill(const TrialScope& scope, const std::vector<TrialRow>& rows,
                                 v1::ListTrialsResponse& response) {
  std::vector<int64_t> ids;
  for (const TrialRow& row : rows) ids.push_back(row.id);
  STEPCURVE_ASSIGN_OR_RETURN(const auto bests, options_.curves->Bests(ids));
  absl::flat_hash_map<int64_t, Staircase> stairs;
  if (scope.goal.has_value()) {
    STEPCURVE_ASSIGN_OR_RETURN(stairs, GoalStaircases(*options_.curves, scope, rows));
  }
  for (const TrialRow& row : rows) {
    const StudyRow& study = scope.StudyOf(row);
    v1::Trial* trial = response.add_trials();
    *trial = ToProto(row, study);
    if (const auto found = bests.find(row.id); found != bests.end()) AddBests(study, found->second, *trial);
    if (const auto found = stairs.find(row.id); found != stairs.end()) {
      if (const std::optional<int64_t> steps = FirstPast(found->second, *scope.goal); steps.has_value()) {
        trial->set_steps_to_goal(*steps);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::GetTrialResponse> TrialHandlers::GetTrial(const v1::GetTrialRequest& request) {
  TrialLookup lookup(options_.sweeps, options_.trials, request.sweep(), request.workload());
  STEPCURVE_ASSIGN_OR_RETURN(const FoundTrial found, lookup.Find("trial", request.trial()));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<AttemptRow> attempts, options_.trials->Attempts(found.trial.id));
  STEPCURVE_ASSIGN_OR_RETURN(const auto bests, options_.curves->Bests({found.trial.id}));

  v1::GetTrialResponse response;
  v1::Trial& trial = *response.mutable_trial();
  trial = ToProto(found.trial, found.study);
  if (const auto recorded = bests.find(found.trial.id); recorded != bests.end()) {
    AddBests(found.study, recorded->second, trial);
  } else {
    STEPCURVE_ASSIGN_OR_RETURN(
        const TrialStaircases stairs,
        options_.curves->Summarise(found.trial.id, static_cast<int>(found.study.definition.metrics.size())));
    AddBests(found.study, BestsOf(stairs), trial);
  }
  for (const AttemptRow& attempt : attempts) *trial.add_attempts() = ToProto(attempt);
  return response;
}

}  // namespace stepcurve
