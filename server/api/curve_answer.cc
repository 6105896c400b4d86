// SPDX-License-Identifier: Apache-2.0
#include "server/api/curve_answer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "proto/support/catalogue.h"
#include "proto/support/evaluation_grid.h"
#include "proto/support/status_macros.h"
#include "server/analysis/curve.h"
#include "server/search/space.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int MetricIndex(const StudyDefinition& study, const std::string& metric) {
  const auto found = std::find(study.metrics.begin(), study.metrics.end(), metric);
  return found == study.metrics.end() ? -1 : static_cast<int>(found - study.metrics.begin());
}

// "val/loss" -> "val", "loss".
std::pair<std::string, std::string> SplitMetric(const std::string& metric) {
  const size_t slash = metric.find('/');
  return {metric.substr(0, slash), metric.substr(slash + 1)};
}

PooledStudy Pooled(const CurveStudy& study, const Envelope& envelope, const TrialSelection& selection,
                   const Goal& goal) {
  PooledStudy pooled{.study = study.study,
                     .envelope = &envelope,
                     .wanted = study.wanted,
                     .open = study.counts.open(),
                     .infeasible = study.counts[TrialState::kInfeasible],
                     .ended = study.counts.total() - study.counts.open() - study.counts[TrialState::kCancelled],
                     .budget_steps = study.definition.budget_steps,
                     .grid = study.definition.grid};
  for (const TrialState state : selection.states) pooled.admitted += study.counts[state];
  if (selection.first > 0) pooled.admitted = std::min(pooled.admitted, selection.first);
  const std::string split = SplitMetric(goal.metric).first;
  for (const auto& [name, every] : study.definition.split_intervals) {
    if (name == split) pooled.metric_every = std::max<int64_t>(1, every);
  }
  return pooled;
}

// Where the winner lies within its ranges, each in the range's own scale.
WinnerFacts FactsOf(const CurveStudy& study, const Winner& winner, int64_t metric_every) {
  WinnerFacts facts;
  const std::vector<double>& drawn = winner.coordinates.empty() ? winner.parameters : winner.coordinates;
  const SearchSpace& space = study.definition.space;
  for (size_t i = 0; i < space.size() && i < drawn.size(); ++i) {
    if (const auto* range = std::get_if<RangeEntry>(&space[i].kind)) {
      facts.coordinates.emplace_back(space[i].name, CoordinateOf(*range, drawn[i]));
    }
  }
  // Where a split is skipped now and then, a missing value says nothing.
  if (winner.next_value.has_value() && !(metric_every > 1 && std::isnan(*winner.next_value))) {
    facts.next_value = winner.next_value;
  }
  return facts;
}

v1::CurvePoint::Status ToProto(PointAnswer::Status status) {
  switch (status) {
    case PointAnswer::Status::kReached:
      return v1::CurvePoint::REACHED;
    case PointAnswer::Status::kNotReached:
      return v1::CurvePoint::NOT_REACHED;
    case PointAnswer::Status::kTooFew:
      return v1::CurvePoint::TOO_FEW;
    case PointAnswer::Status::kNoTrials:
      return v1::CurvePoint::NO_TRIALS;
  }
  return v1::CurvePoint::STATUS_UNSPECIFIED;
}

v1::CurvePoint::Certainty ToProto(PointAnswer::Certainty certainty) {
  switch (certainty) {
    case PointAnswer::Certainty::kFinal:
      return v1::CurvePoint::FINAL;
    case PointAnswer::Certainty::kCensored:
      return v1::CurvePoint::CENSORED;
    case PointAnswer::Certainty::kProvisional:
      return v1::CurvePoint::PROVISIONAL;
  }
  return v1::CurvePoint::CERTAINTY_UNSPECIFIED;
}

// One batch size: its studies are [begin, end) of the scope's.
struct Group {
  size_t begin = 0;
  size_t end = 0;
  std::vector<PooledStudy> pooled;
  PointAnswer answer;
  std::optional<size_t> winner;  // Index of its details.
};

void FillWinner(const CurveStudy& study, const Winner& winner, const PointAnswer& answer, v1::CurvePoint& point) {
  point.set_steps(answer.winner.step);
  point.set_previous_step(answer.previous_step);
  point.set_number(answer.winner.number);
  point.set_trial(answer.winner.trial);
  point.set_value(answer.winner.value);
  point.set_test_value(winner.test_value.value_or(kNan));
  const std::vector<std::string> names = study.definition.ParameterNames();
  for (size_t i = 0; i < names.size() && i < winner.parameters.size(); ++i) {
    v1::NamedValue* parameter = point.add_parameters();
    parameter->set_name(names[i]);
    parameter->set_value(winner.parameters[i]);
  }
  const double examples = static_cast<double>(answer.winner.step) * static_cast<double>(study.definition.batch_size);
  point.set_examples(answer.winner.step * study.definition.batch_size);
  point.set_epochs(study.definition.training_examples > 0
                       ? examples / static_cast<double>(study.definition.training_examples)
                       : kNan);
}

v1::CurvePoint PointOf(const CurveScope& scope, const Group& group, const Goal& goal, const CurveQuery& query,
                       const std::vector<Winner>& winners) {
  const PointAnswer& answer = group.answer;
  v1::CurvePoint point;
  point.set_batch_size(scope.studies[group.begin].definition.batch_size);
  point.set_status(ToProto(answer.status));
  point.set_certainty(ToProto(answer.certainty));
  point.set_steps_at_least(answer.steps_at_least);
  point.set_previous_step(-1);
  point.set_test_value(kNan);
  point.set_epochs(kNan);
  for (const int64_t steps : answer.rank_steps) point.add_rank_steps(steps);
  StateCounts counts;
  for (size_t i = group.begin; i < group.end; ++i) {
    const CurveStudy& study = scope.studies[i];
    counts += study.counts;
    point.add_studies(study.study);
    point.set_results_version(std::max(point.results_version(), study.results_version));
  }
  *point.mutable_counts() = ToProto(counts);
  point.set_pool(answer.admitted);
  point.set_wanted(answer.wanted);

  WinnerFacts facts;
  if (group.winner.has_value()) {
    const CurveStudy& study = scope.studies[group.begin + answer.study];
    const Winner& winner = winners[*group.winner];
    FillWinner(study, winner, answer, point);
    facts = FactsOf(study, winner, group.pooled[answer.study].metric_every);
  }
  for (const PointWarning& warning : PointWarnings(group.pooled, goal, query.first_trials, answer, facts)) {
    v1::Warning* message = point.add_warnings();
    message->set_code(warning.code);
    message->set_text(warning.text);
  }
  return point;
}

// What all studies have in common, or nothing.
template <typename T, typename Get>
T Common(const std::vector<CurveStudy>& studies, Get get) {
  const T first = get(studies[0]);
  const bool same = std::all_of(studies.begin(), studies.end(), [&](const CurveStudy& s) { return get(s) == first; });
  return same ? first : T();
}

void Describe(const CurveQuery& query, const CurveScope& scope, const Goal& goal, v1::Curve& curve) {
  const std::vector<CurveStudy>& studies = scope.studies;
  curve.set_workload(query.workload);
  *curve.mutable_goal() = ToProto(goal);
  SweepState state = SweepState::kCancelled;
  for (const CurveStudy& study : studies) {
    const auto& names = curve.sweeps();
    if (std::find(names.begin(), names.end(), study.sweep_name) == names.end()) curve.add_sweeps(study.sweep_name);
    state = std::min(state, study.sweep_state);  // ACTIVE before PAUSED, DONE and CANCELLED.
  }
  curve.set_sweep_state(ToProto(state));
  curve.set_semantics(ToProto(scope.semantics));
  curve.set_first_trials(query.first_trials);
  const std::string space = Common<std::string>(studies, [](const CurveStudy& s) { return s.space_hash; });
  if (!space.empty()) {
    const int dimensions = Dimensions(studies[0].definition.space);
    curve.set_space(absl::StrFormat("%s (%d dim%s)", space.substr(0, 4), dimensions, dimensions == 1 ? "" : "s"));
  }
  curve.set_grid(Common<std::string>(studies, [](const CurveStudy& s) { return DescribeGrid(s.definition.grid); }));
  curve.set_schedule(Common<std::string>(studies, [](const CurveStudy& s) { return s.definition.schedule; }));
  curve.set_training_examples(
      Common<int64_t>(studies, [](const CurveStudy& s) { return s.definition.training_examples; }));
  for (const std::string& name :
       Common<std::vector<std::string>>(studies, [](const CurveStudy& s) { return s.definition.ParameterNames(); })) {
    curve.add_parameters(name);
  }
  if (query.pool && space.empty()) {
    for (v1::CurvePoint& point : *curve.mutable_points()) {
      v1::Warning* warning = point.add_warnings();
      warning->set_code("unequal_space");
      warning->set_text("the pooled studies' search spaces differ");
    }
  }
}

}  // namespace

absl::StatusOr<v1::Curve> AnswerCurve(CurveStore& curves, const CurveQuery& query, const CurveScope& scope,
                                      const Goal& goal) {
  const TrialSelection selection = SelectionOf(query, scope.semantics);
  const std::vector<CurveStudy>& studies = scope.studies;
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<std::shared_ptr<const Envelope>> envelopes,
                             curves.Envelopes(studies, selection, goal.metric, !goal.falling()));
  std::vector<Group> groups;
  std::vector<CurveStore::WinnerQuery> winner_queries;
  for (size_t begin = 0; begin < studies.size();) {
    Group group{.begin = begin, .end = begin};
    const int64_t batch_size = studies[begin].definition.batch_size;
    for (; group.end < studies.size() && studies[group.end].definition.batch_size == batch_size; ++group.end) {
      group.pooled.push_back(Pooled(studies[group.end], *envelopes[group.end], selection, goal));
    }
    begin = group.end;
    group.answer = AnswerPoint(group.pooled, goal, query.first_trials);
    if (group.answer.status == PointAnswer::Status::kReached) {
      const StudyDefinition& study = studies[group.begin + group.answer.study].definition;
      group.winner = winner_queries.size();
      winner_queries.push_back({.trial = group.answer.winner.trial,
                                .step = group.answer.winner.step,
                                .metric = MetricIndex(study, goal.metric),
                                .test_metric = MetricIndex(study, "test/" + SplitMetric(goal.metric).second)});
    }
    groups.push_back(std::move(group));
  }
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<Winner> winners, curves.Winners(winner_queries));
  v1::Curve curve;
  for (const Group& group : groups) *curve.add_points() = PointOf(scope, group, goal, query, winners);
  Describe(query, scope, goal, curve);
  return curve;
}

absl::Status UnknownWorkload(CurveStore& curves, const std::string& workload) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, curves.Addresses());
  const std::vector<std::string> nearest = NearestNames(workload, addresses);
  return absl::NotFoundError(
      absl::StrCat("no sweep has workload ", workload,
                   nearest.empty() ? "" : absl::StrCat("; nearest: ", absl::StrJoin(nearest, ", "))));
}

}  // namespace stepcurve
