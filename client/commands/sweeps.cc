// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/commands/follow.h"
#include "client/render/figures.h"
#include "client/render/sweep_view.h"
#include "client/sweep_file/spec_yaml.h"
#include "client/sweep_file/yaml_json.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

using Service = v1::SweepService::StubInterface;

// The name or id that most commands take.
std::shared_ptr<std::string> SweepArgument(CLI::App* app) {
  auto sweep = std::make_shared<std::string>();
  app->add_option("SWEEP", *sweep, "Name or id")->required();
  return sweep;
}

absl::StatusOr<ExitStatus> ListSweeps(Session& session, const std::string& tag, v1::SweepState state) {
  RowPrinter printer(session.format(), SweepColumns(), &session.out());
  v1::ListSweepsRequest request;
  request.set_tag(tag);
  request.set_state(state);
  request.set_page_size(1000);
  do {
    STEPCURVE_ASSIGN_OR_RETURN(const v1::ListSweepsResponse response, session.Call(&Service::ListSweeps, request));
    std::vector<Row> rows;
    for (const v1::Sweep& sweep : response.sweeps()) rows.push_back(SweepRow(sweep, session.Now()));
    printer.Print(rows);
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return ExitStatus::kDone;
}

absl::StatusOr<ExitStatus> PrintSpec(Session& session, const std::string& sweep, bool resolved) {
  v1::GetSweepRequest request;
  request.set_sweep(sweep);
  request.set_resolved(resolved);
  STEPCURVE_ASSIGN_OR_RETURN(const v1::GetSweepResponse response, session.Call(&Service::GetSweep, request));
  const std::string yaml = resolved ? response.resolved() : SpecYaml(response.spec());
  if (session.format() != Format::kJson) {
    session.out() << yaml;
  } else if (resolved) {
    session.out() << JsonText({{"sweep", response.sweep().name()}, {"resolved", yaml}}) << "\n";
  } else {
    STEPCURVE_ASSIGN_OR_RETURN(const nlohmann::ordered_json json, YamlJson(yaml));
    session.out() << JsonText(json) << "\n";
  }
  return ExitStatus::kDone;
}

// Pause, resume and cancel differ in the call alone.
template <typename Request, typename Response>
Action DefineMove(CLI::App* app, grpc::Status (Service::*method)(grpc::ClientContext*, const Request&, Response*)) {
  const auto sweep = SweepArgument(app);
  return [sweep, method](Session& session) -> absl::StatusOr<ExitStatus> {
    Request request;
    request.set_sweep(*sweep);
    STEPCURVE_ASSIGN_OR_RETURN(const Response response, session.Call(method, request));
    if (session.format() == Format::kTable) {
      session.out() << "sweep " << response.sweep().id() << " " << response.sweep().name() << " is "
                    << NameOf(response.sweep().state()) << "\n";
    } else {
      RowPrinter(session.format(), SweepColumns(), &session.out()).Print({SweepRow(response.sweep(), session.Now())});
    }
    return ExitStatus::kDone;
  };
}

}  // namespace

Action DefineSweeps(CLI::App* app) {
  const auto tag = std::make_shared<std::string>();
  const auto state = std::make_shared<std::string>();
  app->add_option("--tag", *tag, "Only sweeps with this tag")->type_name("TAG");
  std::vector<std::string> names;
  for (int value = v1::ACTIVE; value < v1::SweepState_ARRAYSIZE; ++value) {
    names.push_back(NameOf(static_cast<v1::SweepState>(value)));
  }
  app->add_option("--state", *state, "Only sweeps in this state")
      ->type_name("active|paused|done|cancelled")
      ->check(OneOf(names));
  return [tag, state](Session& session) {
    v1::SweepState wanted = v1::SWEEP_STATE_UNSPECIFIED;
    for (int value = 0; value < v1::SweepState_ARRAYSIZE; ++value) {
      if (NameOf(static_cast<v1::SweepState>(value)) == *state) wanted = static_cast<v1::SweepState>(value);
    }
    return ListSweeps(session, *tag, wanted);
  };
}

Action DefineShow(CLI::App* app) {
  const auto sweep = SweepArgument(app);
  return [sweep](Session& session) -> absl::StatusOr<ExitStatus> {
    v1::GetSweepRequest request;
    request.set_sweep(*sweep);
    STEPCURVE_ASSIGN_OR_RETURN(const v1::GetSweepResponse response, session.Call(&Service::GetSweep, request));
    PrintSweep(response.sweep(), {response.studies().begin(), response.studies().end()}, session.format(),
               &session.out());
    return ExitStatus::kDone;
  };
}

Action DefineSpec(CLI::App* app) {
  const auto sweep = SweepArgument(app);
  const auto resolved = std::make_shared<bool>(false);
  app->add_flag("--resolved", *resolved, "What every distinct study came to, defaults and overrides applied");
  return [sweep, resolved](Session& session) { return PrintSpec(session, *sweep, *resolved); };
}

Action DefineWatch(CLI::App* app) {
  const auto sweep = SweepArgument(app);
  return [sweep](Session& session) {
    const bool table = session.format() == Format::kTable;
    return Follow(session, {.sweep = *sweep,
                            .out = &session.out(),
                            .terminal = table && session.environment().out_is_terminal,
                            .format = session.format()});
  };
}

Action DefinePause(CLI::App* app) { return DefineMove(app, &Service::PauseSweep); }
Action DefineResume(CLI::App* app) { return DefineMove(app, &Service::ResumeSweep); }
Action DefineCancel(CLI::App* app) { return DefineMove(app, &Service::CancelSweep); }

}  // namespace stepcurve
