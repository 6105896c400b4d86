// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "client/commands/commands.h"
#include "client/commands/goal_argument.h"
#include "client/plot/gnuplot.h"
#include "client/plot/text_plot.h"
#include "client/render/curve_view.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

// What chooses a curve, for `curve` and `plot` alike.
struct CurveArguments {
  std::vector<std::string> workloads;
  std::vector<std::string> goals;
  std::vector<std::string> sweeps;
  bool all_sweeps = false;
  bool pool = false;
  std::string semantics;
  int64_t trials = 0;
  std::vector<std::string> include;
};

struct PlotArguments {
  CurveArguments curve;
  std::string kind;
  std::string file;
  bool script = false;
};

absl::StatusOr<v1::GetCurveResponse> GetCurve(Session& session, const CurveArguments& arguments,
                                              const std::string& workload) {
  v1::GetCurveRequest request;
  request.set_workload(workload);
  for (const std::string& goal : arguments.goals) {
    STEPCURVE_ASSIGN_OR_RETURN(*request.add_goals(), GoalArgument(goal));
  }
  for (const std::string& sweep : arguments.sweeps) request.add_sweeps(sweep);
  request.set_all_sweeps(arguments.all_sweeps);
  request.set_pool(arguments.pool);
  if (arguments.semantics == "published") request.set_semantics(v1::PUBLISHED);
  if (arguments.semantics == "reached") request.set_semantics(v1::REACHED);
  request.set_first_trials(arguments.trials);
  const auto includes = [&](absl::string_view what) {
    return std::find(arguments.include.begin(), arguments.include.end(), what) != arguments.include.end();
  };
  request.set_include_incomplete(includes("incomplete"));
  request.set_include_infeasible(includes("infeasible"));
  request.set_include_running(includes("running"));
  return session.Call(&v1::CurveService::StubInterface::GetCurve, request);
}

void AddOptions(CLI::App* app, CurveArguments* arguments) {
  app->add_option("--goal", arguments->goals, "SPLIT/METRIC OP NUMBER, as in 'val/loss < 0.1'; may be repeated")
      ->type_name("GOAL")
      ->required()
      ->allow_extra_args(false);
  app->add_option("--sweep", arguments->sweeps, "Trials of this sweep, by name or id; may be repeated")
      ->type_name("SWEEP")
      ->allow_extra_args(false);
  app->add_flag("--all-sweeps", arguments->all_sweeps, "Of every sweep that has the workload");
  app->add_flag("--pool", arguments->pool, "One curve over all chosen sweeps, rather than one each");
  app->add_option("--semantics", arguments->semantics,
                  "Which crossings count: those of complete trials, or every one; default the sweep's")
      ->type_name("published|reached")
      ->check(OneOf({"published", "reached"}));
  app->add_option("--trials", arguments->trials, "Only the first N trials of each study")
      ->type_name("N")
      ->check(Positive());
  app->add_option("--include", arguments->include, "Admit such trials too: incomplete, infeasible, running")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(OneOf({"incomplete", "infeasible", "running"}));
}

absl::StatusOr<ExitStatus> PrintCurve(Session& session, const CurveArguments& arguments) {
  STEPCURVE_ASSIGN_OR_RETURN(const v1::GetCurveResponse response,
                             GetCurve(session, arguments, arguments.workloads.front()));
  PrintCurves(response, session.format(), &session.out());
  return ExitStatus::kDone;
}

absl::StatusOr<ExitStatus> PlotSteps(Session& session, const PlotArguments& arguments) {
  if (arguments.script && arguments.file.empty()) {
    return absl::InvalidArgumentError("--script leaves the script beside a picture; name one with -o FILE");
  }
  std::vector<v1::Curve> curves;
  for (const std::string& workload : arguments.curve.workloads) {
    STEPCURVE_ASSIGN_OR_RETURN(const v1::GetCurveResponse response, GetCurve(session, arguments.curve, workload));
    curves.insert(curves.end(), response.curves().begin(), response.curves().end());
  }
  const StepsPlot plot = MakeStepsPlot(curves);
  if (session.format() != Format::kTable) PrintPlotRows(plot, session.format(), &session.out());
  if (!arguments.file.empty()) {
    STEPCURVE_RETURN_IF_ERROR(DrawPicture(plot, {.file = arguments.file, .script = arguments.script}));
    session.err() << "wrote " << arguments.file << "\n";
  } else if (session.format() == Format::kTable) {
    session.out() << TextPlot(plot, session.environment().columns, session.environment().rows);
  }
  return ExitStatus::kDone;
}

}  // namespace

Action DefineCurve(CLI::App* app) {
  const auto arguments = std::make_shared<CurveArguments>();
  app->add_option("WORKLOAD", arguments->workloads, "[GROUP/]DATASET/MODEL/OPTIMIZER[@VARIANT]")
      ->required()
      ->expected(1);
  AddOptions(app, arguments.get());
  return [arguments](Session& session) { return PrintCurve(session, *arguments); };
}

Action DefinePlot(CLI::App* app) {
  const auto arguments = std::make_shared<PlotArguments>();
  app->add_option("KIND", arguments->kind, "steps: steps to result against batch size, perfect scaling beside it")
      ->required()
      ->check(OneOf({"steps"}));
  app->add_option("WORKLOAD", arguments->curve.workloads, "One or several, each a curve")->required();
  AddOptions(app, &arguments->curve);
  app->add_option("-o", arguments->file, "Picture to write: .png, .svg or .pdf")->type_name("FILE");
  app->add_flag("--script", arguments->script, "Leave gnuplot's script and data beside the picture");
  return [arguments](Session& session) { return PlotSteps(session, *arguments); };
}

}  // namespace stepcurve
