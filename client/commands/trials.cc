// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "client/commands/commands.h"
#include "client/commands/goal_argument.h"
#include "client/render/figures.h"
#include "client/render/trial_view.h"
#include "proto/support/goal.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

using Service = v1::SweepService::StubInterface;

struct ListArguments {
  std::string sweep;
  std::string workload;
  int64_t batch_size = 0;
  std::vector<std::string> states;
  std::string goal;
  std::string sort;
  bool descending = false;
  int64_t limit = 0;
};

struct TrialArguments {
  std::vector<std::string> trials;
  std::string sweep;
  std::string workload;
  std::string metric;
  bool superseded = false;
};

// The columns of a list of this sweep's trials: every parameter of its studies, and the metric of the goal or, without
// one, of the sweep's first goal or the first that its studies have on the validation set.
TrialColumns ColumnsFor(const v1::GetSweepResponse& sweep, const v1::Goal* goal) {
  TrialColumns columns;
  columns.goal = goal != nullptr;
  for (const v1::Study& study : sweep.studies()) {
    for (const v1::SpaceEntry& entry : study.space()) {
      if (std::find(columns.parameters.begin(), columns.parameters.end(), entry.name()) == columns.parameters.end()) {
        columns.parameters.push_back(entry.name());
      }
    }
    for (const std::string& metric : study.metrics()) {
      if (columns.metric.empty() && absl::StartsWith(metric, "val/")) columns.metric = metric;
    }
  }
  if (goal != nullptr) {
    columns.metric = goal->metric();
  } else if (!sweep.sweep().goals().empty()) {
    const absl::StatusOr<Goal> first = ParseGoal(sweep.sweep().goals(0));
    if (first.ok()) columns.metric = first->metric;
  }
  return columns;
}

v1::TrialState StateOf(const std::string& name) {
  for (int value = 0; value < v1::TrialState_ARRAYSIZE; ++value) {
    if (NameOf(static_cast<v1::TrialState>(value)) == name) return static_cast<v1::TrialState>(value);
  }
  return v1::TRIAL_STATE_UNSPECIFIED;
}

absl::StatusOr<ExitStatus> ListTrials(Session& session, const ListArguments& arguments) {
  v1::ListTrialsRequest request;
  request.set_sweep(arguments.sweep);
  request.set_workload(arguments.workload);
  request.set_batch_size(arguments.batch_size);
  for (const std::string& state : arguments.states) request.add_states(StateOf(state));
  if (!arguments.goal.empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(*request.mutable_goal(), GoalArgument(arguments.goal));
  }
  request.set_order_by(arguments.sort);
  request.set_descending(arguments.descending);

  v1::GetSweepRequest sweep_request;
  sweep_request.set_sweep(arguments.sweep);
  STEPCURVE_ASSIGN_OR_RETURN(const v1::GetSweepResponse sweep, session.Call(&Service::GetSweep, sweep_request));
  const TrialColumns columns = ColumnsFor(sweep, request.has_goal() ? &request.goal() : nullptr);
  RowPrinter printer(session.format(), columns.Columns(), &session.out());
  int64_t left = arguments.limit > 0 ? arguments.limit : std::numeric_limits<int64_t>::max();
  do {
    request.set_page_size(static_cast<int32_t>(std::min<int64_t>(left, 1000)));
    STEPCURVE_ASSIGN_OR_RETURN(const v1::ListTrialsResponse response, session.Call(&Service::ListTrials, request));
    std::vector<Row> rows;
    for (const v1::Trial& trial : response.trials()) rows.push_back(columns.RowOf(trial));
    printer.Print(rows);
    left -= response.trials_size();
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() && left > 0);
  return ExitStatus::kDone;
}

absl::StatusOr<ExitStatus> ShowTrial(Session& session, const TrialArguments& arguments) {
  v1::GetTrialRequest request;
  request.set_trial(arguments.trials.front());
  request.set_sweep(arguments.sweep);
  request.set_workload(arguments.workload);
  STEPCURVE_ASSIGN_OR_RETURN(const v1::GetTrialResponse response, session.Call(&Service::GetTrial, request));
  PrintTrial(response.trial(), session.format(), &session.out());
  return ExitStatus::kDone;
}

absl::StatusOr<ExitStatus> PrintMeasurements(Session& session, const TrialArguments& arguments) {
  v1::StreamMeasurementsRequest request;
  for (const std::string& trial : arguments.trials) request.add_trials(trial);
  request.set_sweep(arguments.sweep);
  request.set_workload(arguments.workload);
  request.set_metric(arguments.metric);
  request.set_superseded(arguments.superseded);
  const Format format = session.format(session.environment().out_is_terminal ? Format::kTable : Format::kCsv);
  MeasurementPrinter printer(format, &session.out());
  grpc::ClientContext context;
  const auto stream = session.sweeps().StreamMeasurements(&context, request);
  v1::StreamMeasurementsResponse response;
  absl::Status status;
  while (stream->Read(&response)) {
    status = printer.Print(response.batch());
    if (!status.ok() || !session.out()) {
      context.TryCancel();
      break;
    }
  }
  const grpc::Status ended = stream->Finish();
  if (!status.ok()) return status;
  if (!session.out()) return absl::InternalError("cannot write the results");
  if (!ended.ok()) return FromGrpc(ended, session.server());
  return ExitStatus::kDone;
}

void AddTrialOptions(CLI::App* app, TrialArguments* arguments) {
  app->add_option("--sweep", arguments->sweep, "Name or id; needed with BATCH/NUMBER")->type_name("SWEEP");
  app->add_option("--workload", arguments->workload, "Needed with BATCH/NUMBER where the sweep has several")
      ->type_name("WORKLOAD");
}

}  // namespace

Action DefineTrials(CLI::App* app) {
  const auto arguments = std::make_shared<ListArguments>();
  app->add_option("SWEEP", arguments->sweep, "Name or id")->required();
  std::vector<std::string> names;
  for (int value = v1::QUEUED; value < v1::TrialState_ARRAYSIZE; ++value) {
    names.push_back(NameOf(static_cast<v1::TrialState>(value)));
  }
  app->add_option("--state", arguments->states, "Only trials in this state; may be repeated")
      ->type_name("STATE")
      ->allow_extra_args(false)
      ->check(OneOf(names));
  app->add_option("--workload", arguments->workload, "Only this workload")->type_name("WORKLOAD");
  app->add_option("--batch-size", arguments->batch_size, "Only this batch size")->type_name("B")->check(Positive());
  app->add_option("--goal", arguments->goal, "Adds the first step past it, as in 'val/loss < 0.1'")->type_name("GOAL");
  app->add_option("--sort", arguments->sort, "By steps (to the goal), value (best), or a parameter; default by number")
      ->type_name("steps|value|PARAM");
  app->add_flag("--descending", arguments->descending, "Largest first");
  app->add_option("--limit", arguments->limit, "At most so many")->type_name("N")->check(Positive());
  return [arguments](Session& session) { return ListTrials(session, *arguments); };
}

Action DefineTrial(CLI::App* app) {
  const auto arguments = std::make_shared<TrialArguments>();
  app->add_option("TRIAL", arguments->trials, "Id, or BATCH/NUMBER with --sweep")->required()->expected(1);
  AddTrialOptions(app, arguments.get());
  return [arguments](Session& session) { return ShowTrial(session, *arguments); };
}

Action DefineMeasurements(CLI::App* app) {
  const auto arguments = std::make_shared<TrialArguments>();
  app->add_option("TRIAL", arguments->trials, "Ids, or BATCH/NUMBER with --sweep")->required();
  AddTrialOptions(app, arguments.get());
  app->add_option("--metric", arguments->metric, "Only this metric")->type_name("METRIC");
  app->add_flag("--superseded", arguments->superseded, "Also what a later attempt replaced");
  return [arguments](Session& session) { return PrintMeasurements(session, *arguments); };
}

}  // namespace stepcurve
