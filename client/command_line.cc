// SPDX-License-Identifier: Apache-2.0
#include "client/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/commands/commands.h"
#include "client/exit_status.h"
#include "client/session.h"
#include "client/sweep_file/file_error.h"
#include "proto/channel/dial.h"

namespace stepcurve {
namespace {

constexpr char kOverview[] =
    "Measures steps to result against batch size: submit sweeps, watch them, read their curves.\n"
    "\n"
    "  stepcurve submit sweep.yaml --dry-run\n"
    "  stepcurve submit sweep.yaml\n"
    "  stepcurve watch NAME\n"
    "  stepcurve curve DATASET/MODEL/OPTIMIZER --goal 'val/classification_error < 0.1'\n"
    "\n"
    "Results go to stdout, talk to stderr. Exit status: 0 done, 1 failed, 2 fix the request, 3 try again.";

// Says on one line what went wrong.
void Complain(std::ostream& err, absl::string_view command, absl::string_view message) {
  err << "stepcurve" << (command.empty() ? "" : " ") << command << ": " << absl::StrReplaceAll(message, {{"\n", "; "}})
      << "\n";
}

// The only place where CLI11 may throw. The exit status, or nothing where the arguments are fine.
std::optional<int> CatchParseErrors(CLI::App* app, const Environment& environment,
                                    const std::function<void()>& parse) try {
  parse();
  return std::nullopt;
} catch (const CLI::Success& asked_for_help) {
  return app->exit(asked_for_help, *environment.out, *environment.err);
} catch (const CLI::Error& error) {
  const auto chosen = app->get_subcommands();
  Complain(*environment.err, chosen.empty() ? "" : chosen.front()->get_name(), error.what());
  return static_cast<int>(ExitStatus::kFixRequest);
}

// The first argument that is no option, where no command has that name.
std::string UnknownCommand(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--server" || arguments[i] == "--output") {
      ++i;
    } else if (arguments[i].empty() || arguments[i][0] != '-') {
      for (const Command& command : Commands()) {
        if (arguments[i] == command.name) return "";
      }
      return arguments[i];
    }
  }
  return "";
}

std::string UnknownCommandText(const std::string& name) {
  const auto append = [](std::string* out, const Command& command) { out->append(command.name); };
  return absl::StrCat("no command \"", name, "\"; there are ", absl::StrJoin(Commands(), ", ", append));
}

absl::StatusOr<ExitStatus> Run(const Action& action, Session& session) {
  if (const absl::Status address = CheckAddress(session.server()); !address.ok()) return address;
  absl::StatusOr<ExitStatus> status = action(session);
  session.out().flush();
  if (status.ok() && !session.out()) return absl::InternalError("cannot write the results");
  return status;
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& arguments, const Environment& environment) {
  CLI::App app(kOverview, "stepcurve");
  app.set_version_flag("--version", STEPCURVE_VERSION);
  app.require_subcommand(1);
  Session::Options options{.server = environment.default_server, .format = std::nullopt};
  std::string format;
  app.add_option("--server", options.server, "Server to talk to; also by STEPCURVE_SERVER")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--output", format, "Form of the results; JSON is one object a line")
      ->type_name("table|json|csv")
      ->check(OneOf({"table", "json", "csv"}));

  std::string name;
  Action action;
  for (const Command& command : Commands()) {
    CLI::App* parser = app.add_subcommand(command.name, command.summary);
    parser->group(command.group)->fallthrough()->footer(absl::StrCat("Examples:\n", command.examples));
    const Action define = command.define(parser);
    parser->callback([&name, &action, define, &command] {
      name = command.name;
      action = define;
    });
  }
  if (arguments.empty()) {
    *environment.err << app.help();
    return static_cast<int>(ExitStatus::kFixRequest);
  }
  if (const std::string unknown = UnknownCommand(arguments); !unknown.empty()) {
    Complain(*environment.err, "", UnknownCommandText(unknown));
    return static_cast<int>(ExitStatus::kFixRequest);
  }
  // CLI11 takes them from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  if (const std::optional<int> status = CatchParseErrors(&app, environment, [&] { app.parse(std::move(reversed)); });
      status.has_value()) {
    return *status;
  }
  if (format == "table") options.format = Format::kTable;
  if (format == "json") options.format = Format::kJson;
  if (format == "csv") options.format = Format::kCsv;

  Session session(environment, options);
  const absl::StatusOr<ExitStatus> status = Run(action, session);
  if (status.ok()) return static_cast<int>(*status);
  const std::string field = FieldOf(status.status());
  Complain(*environment.err, name, absl::StrCat(field, field.empty() ? "" : ": ", status.status().message()));
  return static_cast<int>(ExitStatusOf(status.status()));
}

}  // namespace stepcurve
