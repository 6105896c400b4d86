// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/assignment.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

constexpr size_t kMaxFailureBytes = 2'000;

absl::StatusOr<Option> OptionOf(const v1::Option& option) {
  switch (option.value_case()) {
    case v1::Option::kFlag:
      return Option{option.name(), option.flag()};
    case v1::Option::kInteger:
      return Option{option.name(), int64_t{option.integer()}};
    case v1::Option::kNumber:
      return Option{option.name(), option.number()};
    case v1::Option::kText:
      return Option{option.name(), option.text()};
    case v1::Option::VALUE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("option ", option.name(), " has no value that this build knows"));
}

absl::StatusOr<Workload> WorkloadOf(const v1::Workload& proto) {
  Workload workload{
      .dataset = proto.dataset(), .model = proto.model(), .optimizer = proto.optimizer(), .variant = proto.variant()};
  for (const v1::Option& option : proto.data()) {
    STEPCURVE_ASSIGN_OR_RETURN(workload.data.emplace_back(), OptionOf(option));
  }
  for (const v1::Option& option : proto.options()) {
    STEPCURVE_ASSIGN_OR_RETURN(workload.options.emplace_back(), OptionOf(option));
  }
  return workload;
}

absl::StatusOr<EvaluationGrid> GridOf(const v1::EvaluationGrid& proto) {
  switch (proto.kind_case()) {
    case v1::EvaluationGrid::kGeometric:
      if (proto.geometric().ratio_millionths() <= 1'000'000 || proto.geometric().first() < 1) break;
      return EvaluationGrid{.kind = EvaluationGrid::Kind::kGeometric,
                            .ratio_millionths = proto.geometric().ratio_millionths(),
                            .first = proto.geometric().first()};
    case v1::EvaluationGrid::kEvery:
      if (proto.every() < 1) break;
      return EvaluationGrid{.kind = EvaluationGrid::Kind::kEvery, .every = proto.every()};
    case v1::EvaluationGrid::kAt:
      return EvaluationGrid{.kind = EvaluationGrid::Kind::kAt,
                            .at = {proto.at().steps().begin(), proto.at().steps().end()}};
    case v1::EvaluationGrid::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("evaluation grid is none that this build knows");
}

absl::StatusOr<Goal> GoalOf(const v1::Goal& proto) {
  Goal goal{.metric = proto.metric(), .threshold = proto.threshold()};
  switch (proto.comparison()) {
    case v1::Goal::LESS:
      goal.comparison = Goal::Comparison::kLess;
      return goal;
    case v1::Goal::LESS_OR_EQUAL:
      goal.comparison = Goal::Comparison::kLessOrEqual;
      return goal;
    case v1::Goal::GREATER:
      goal.comparison = Goal::Comparison::kGreater;
      return goal;
    case v1::Goal::GREATER_OR_EQUAL:
      goal.comparison = Goal::Comparison::kGreaterOrEqual;
      return goal;
    default:
      return absl::InvalidArgumentError(absl::StrCat("goal on ", proto.metric(), " has an unknown comparison"));
  }
}

// Texts of the contract are UTF-8, which what a trainer or a library says need not be.
std::string PlainText(const std::string& text) {
  std::string plain = text.substr(0, kMaxFailureBytes);
  for (char& c : plain) {
    if (c < 0x20 || c > 0x7e) c = ' ';
  }
  return plain;
}

}  // namespace

absl::StatusOr<TrialRun> TrialRunOf(const v1::StudyDefinition& study, const v1::Assignment& assignment) {
  TrialRun run;
  run.trial = assignment.trial();
  run.attempt = assignment.attempt();
  STEPCURVE_ASSIGN_OR_RETURN(run.workload, WorkloadOf(study.workload()));
  run.batch_size = study.batch_size();
  run.budget_steps = study.budget_steps();
  if (run.batch_size < 1 || run.budget_steps < 1) {
    return absl::InvalidArgumentError(absl::StrCat("study ", study.study(), " has batch size ", run.batch_size,
                                                   " and budget ", run.budget_steps, "; both must be at least 1"));
  }
  STEPCURVE_ASSIGN_OR_RETURN(run.grid, GridOf(study.grid()));
  run.metrics.assign(study.metrics().begin(), study.metrics().end());
  if (study.parameters_size() != assignment.parameters_size()) {
    return absl::InvalidArgumentError(absl::StrCat("study ", study.study(), " has ", study.parameters_size(),
                                                   " parameters, the assignment ", assignment.parameters_size()));
  }
  for (int i = 0; i < study.parameters_size(); ++i) {
    run.parameters.push_back({study.parameters(i), assignment.parameters(i)});
  }
  run.schedule = study.schedule();
  run.precision = study.precision();
  for (const v1::Evaluation::SplitInterval& interval : study.splits()) {
    run.split_intervals.emplace_back(interval.split(), interval.every());
  }
  run.train_examples = study.train_examples();
  for (const v1::Goal& goal : study.goals()) {
    STEPCURVE_ASSIGN_OR_RETURN(run.goals.emplace_back(), GoalOf(goal));
  }
  run.training_seed = assignment.training_seed();
  return run;
}

v1::End EndOf(const RunEnd& run_end, v1::End::Released::Why why) {
  v1::End end;
  switch (run_end.kind) {
    case RunEnd::Kind::kComplete:
      end.mutable_complete();
      return end;
    case RunEnd::Kind::kDiverged:
      end.mutable_diverged()->set_step(run_end.step);
      end.mutable_diverged()->set_reason(PlainText(run_end.message));
      return end;
    case RunEnd::Kind::kStopped:
      return ReleasedEnd(why);
    case RunEnd::Kind::kTrialError:
    case RunEnd::Kind::kWorkerError:
      end = FailedEnd(run_end.kind == RunEnd::Kind::kTrialError ? v1::End::Failure::TRIAL : v1::End::Failure::WORKER,
                      run_end.message);
      end.mutable_failure()->set_before_first_step(run_end.before_first_step);
      return end;
  }
  return end;
}

v1::End ReleasedEnd(v1::End::Released::Why why) {
  v1::End end;
  end.mutable_released()->set_why(why);
  end.mutable_released()->set_checkpoint_step(-1);
  return end;
}

v1::End FailedEnd(v1::End::Failure::Kind kind, const std::string& message) {
  v1::End end;
  end.mutable_failure()->set_kind(kind);
  end.mutable_failure()->set_message(PlainText(message));
  return end;
}

}  // namespace stepcurve
