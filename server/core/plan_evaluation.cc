// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_evaluation.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/catalogue.h"
#include "proto/support/status_macros.h"
#include "server/core/decimal.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

constexpr int64_t kDefaultRatioMillionths = 1'050'000;
// Evaluations up to which a geometric grid starts by single steps, roughly: a budget's 500th part comes first.
constexpr int64_t kFirstFraction = 500;
constexpr int64_t kDefaultTrainExamples = 10'000;

absl::Status AtLeastOne(int64_t value, const std::string& path) {
  if (value < 1) return FieldError(path, absl::StrCat("is ", value, "; it must be at least 1"));
  return absl::OkStatus();
}

absl::StatusOr<EvaluationGrid> Geometric(const EvaluationSpec& spec, const std::string& path, int64_t budget_steps) {
  EvaluationGrid grid{.kind = EvaluationGrid::Kind::kGeometric, .ratio_millionths = kDefaultRatioMillionths};
  if (spec.geometric.has_value()) {
    const std::string text = absl::StrCat("is ", FormatDouble(*spec.geometric));
    if (!(*spec.geometric > 1 && *spec.geometric <= 2)) {
      return FieldError(path + ".geometric", text + "; the ratio must be above 1 and at most 2");
    }
    const auto millionths = Millionths(*spec.geometric);
    if (!millionths.has_value()) {
      return FieldError(path + ".geometric", text + "; the ratio has at most six decimals");
    }
    grid.ratio_millionths = *millionths;
  }
  if (spec.from.has_value()) STEPCURVE_RETURN_IF_ERROR(AtLeastOne(*spec.from, path + ".from"));
  grid.first = spec.from.value_or(std::max<int64_t>(1, (budget_steps - 1) / kFirstFraction + 1));
  return grid;
}

absl::StatusOr<EvaluationGrid> At(std::vector<int64_t> steps, const std::string& path) {
  std::sort(steps.begin(), steps.end());
  if (steps.front() < 0) return FieldError(path, absl::StrCat(steps.front(), " is no step; it must be at least 0"));
  if (const auto twice = std::adjacent_find(steps.begin(), steps.end()); twice != steps.end()) {
    return FieldError(path, absl::StrCat(*twice, " is there twice"));
  }
  return EvaluationGrid{.kind = EvaluationGrid::Kind::kAt, .at = std::move(steps)};
}

absl::StatusOr<EvaluationGrid> EveryEpochs(double epochs, const std::string& path, const StudyKey& study) {
  if (study.training_examples == 0) {
    return FieldError(path, absl::StrCat(study.workload->dataset, " has no epochs; write geometric, every or at"));
  }
  if (!(epochs > 0) || !std::isfinite(epochs)) {
    return FieldError(path, absl::StrCat("is ", FormatDouble(epochs), "; it must be above 0"));
  }
  const auto every = CeilOf(epochs, study.training_examples, study.batch_size);
  if (!every.has_value())
    return FieldError(path, absl::StrCat(FormatDouble(epochs), " epochs are more than 2^63 - 1 steps"));
  return EvaluationGrid{.kind = EvaluationGrid::Kind::kEvery, .every = *every};
}

absl::StatusOr<EvaluationGrid> PlanGrid(const EvaluationSpec& spec, const std::string& path, const StudyKey& study,
                                        int64_t budget_steps) {
  const int kinds = spec.geometric.has_value() + spec.every.has_value() + spec.epochs.has_value() + !spec.at.empty();
  if (kinds > 1) return FieldError(path, "has more than one of geometric, every, epochs and at; write one");
  if (kinds == 0 || spec.geometric.has_value()) return Geometric(spec, path, budget_steps);
  if (spec.from.has_value()) return FieldError(path + ".from", "goes with geometric only");
  if (spec.every.has_value()) {
    STEPCURVE_RETURN_IF_ERROR(AtLeastOne(*spec.every, path + ".every"));
    return EvaluationGrid{.kind = EvaluationGrid::Kind::kEvery, .every = *spec.every};
  }
  if (spec.epochs.has_value()) return EveryEpochs(*spec.epochs, path + ".epochs", study);
  return At(spec.at, path + ".at");
}

// The splits that a workload has, in the order of its metrics.
std::vector<std::string> SplitsOf(const std::vector<std::string>& metrics) {
  std::vector<std::string> splits;
  for (const std::string& metric : metrics) {
    std::string split = metric.substr(0, metric.find('/'));
    if (splits.empty() || splits.back() != split) splits.push_back(std::move(split));
  }
  return splits;
}

absl::Status PlanSplits(const EvaluationSpec& spec, const std::string& path, const Workload& workload,
                        PlannedEvaluation& planned) {
  const std::vector<std::string> known = SplitsOf(planned.metrics);
  if (spec.splits.empty()) return absl::OkStatus();
  std::vector<std::string> metrics;
  // In the order of the metrics, however the file orders them.
  for (const std::string& split : known) {
    for (const SplitIntervalSpec& given : spec.splits) {
      if (given.split != split) continue;
      const std::string split_path = absl::StrCat(path, ".splits.", split);
      STEPCURVE_RETURN_IF_ERROR(AtLeastOne(given.every, split_path));
      if (!planned.split_intervals.empty() && planned.split_intervals.back().first == split) {
        return FieldError(split_path, "is there twice");
      }
      planned.split_intervals.emplace_back(split, given.every);
      for (const std::string& metric : planned.metrics) {
        if (absl::StartsWith(metric, split + "/")) metrics.push_back(metric);
      }
    }
  }
  for (const SplitIntervalSpec& given : spec.splits) {
    if (std::find(known.begin(), known.end(), given.split) == known.end()) {
      return FieldError(absl::StrCat(path, ".splits.", given.split),
                        absl::StrCat(WorkloadAddress(workload), " has no split ", given.split, " (it has ",
                                     absl::StrJoin(known, ", "), ")"));
    }
  }
  planned.metrics = std::move(metrics);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlannedEvaluation> PlanEvaluation(const Placed<EvaluationSpec>& placed, const StudyKey& study,
                                                 int64_t budget_steps) {
  const EvaluationSpec& spec = placed.value;
  PlannedEvaluation planned;
  planned.metrics = Metrics(*study.workload);
  STEPCURVE_ASSIGN_OR_RETURN(planned.grid, PlanGrid(spec, placed.path, study, budget_steps));
  STEPCURVE_RETURN_IF_ERROR(PlanSplits(spec, placed.path, *study.workload, planned));
  planned.train_examples = std::min(kDefaultTrainExamples, study.training_examples);
  if (spec.train_examples.has_value()) {
    const int64_t examples = *spec.train_examples;
    const std::string path = placed.path + ".train_examples";
    if (study.training_examples == 0)
      return FieldError(path, absl::StrCat(study.workload->dataset, " has no examples"));
    if (examples < 1 || examples > study.training_examples) {
      return FieldError(path, absl::StrCat("is ", examples, "; it must be 1 to ", study.training_examples));
    }
    planned.train_examples = examples;
  }
  return planned;
}

absl::StatusOr<std::vector<Goal>> PlanGoals(const Placed<std::vector<std::string>>& placed, const Workload& workload,
                                            const std::vector<std::string>& metrics) {
  std::vector<Goal> goals;
  for (size_t i = 0; i < placed.value.size(); ++i) {
    const std::string path = absl::StrCat(placed.path, "[", i, "]");
    absl::StatusOr<Goal> goal = ParseGoal(placed.value[i]);
    if (!goal.ok()) return FieldError(path, goal.status().message());
    if (std::find(metrics.begin(), metrics.end(), goal->metric) == metrics.end()) {
      return FieldError(path, absl::StrCat(WorkloadAddress(workload), " does not measure ", goal->metric,
                                           " (it measures ", absl::StrJoin(metrics, ", "), ")"));
    }
    if (std::find(goals.begin(), goals.end(), *goal) != goals.end()) {
      return FieldError(path, absl::StrCat(FormatGoal(*goal), " is there twice"));
    }
    goals.push_back(*std::move(goal));
  }
  return goals;
}

}  // namespace stepcurve
