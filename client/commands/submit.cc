// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/commands/commands.h"
#include "client/commands/follow.h"
#include "client/render/figures.h"
#include "client/render/plan_view.h"
#include "client/sweep_file/file_error.h"
#include "client/sweep_file/sweep_file.h"
#include "proto/channel/random_id.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

struct Arguments {
  std::string file;
  bool dry_run = false;
  bool wait = false;
  std::string request_id;
};

// A large sweep is one transaction of up to a million trials.
constexpr absl::Duration kSubmitTimeout = absl::Minutes(5);

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  // A folder opens, and reads as an empty file.
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", strerror(EISDIR)));
  }
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in.is_open() || in.bad()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", strerror(errno)));
  }
  return text.str();
}

// Safe to repeat: the server knows the request by its id.
absl::StatusOr<v1::CreateSweepResponse> CreateSweep(Session& session, const v1::CreateSweepRequest& request) {
  absl::Duration backoff = session.environment().first_backoff;
  absl::Duration waited = absl::ZeroDuration();
  while (true) {
    absl::StatusOr<v1::CreateSweepResponse> response =
        session.Call(&v1::SweepService::StubInterface::CreateSweep, request, kSubmitTimeout);
    const bool again = absl::IsUnavailable(response.status()) || absl::IsAborted(response.status());
    if (!again || waited + backoff > session.environment().submit_patience) return response;
    absl::SleepFor(backoff);
    waited += backoff;
    backoff *= 2;
  }
}

void PrintCreated(Session& session, const v1::CreateSweepResponse& response) {
  const v1::Sweep& sweep = response.sweep();
  session.err() << "sweep " << sweep.id() << " " << sweep.name() << ": ";
  if (response.created()) {
    session.err() << Grouped(sweep.wanted()) << " trials queued in " << Grouped(sweep.studies())
                  << (sweep.studies() == 1 ? " study\n" : " studies\n");
  } else {
    session.err() << "already there, unchanged\n";
  }
  if (session.format() == Format::kTable) {
    session.out() << sweep.id() << "\n";
  } else {
    RowPrinter(session.format(), {{"sweep"}, {"name"}, {"created"}, {"state"}, {"wanted"}, {"studies"}}, &session.out())
        .Print({{Cell::Integer(sweep.id()), Cell::Text(sweep.name()), Cell::Flag(response.created()),
                 Cell::Text(NameOf(sweep.state())), Cell::Integer(sweep.wanted()), Cell::Integer(sweep.studies())}});
  }
  session.out().flush();
}

absl::StatusOr<ExitStatus> Submit(Session& session, const Arguments& arguments) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::string text, ReadFile(arguments.file));
  const auto refuse = [&](const YamlNode& root, const absl::Status& status) {
    session.err() << DescribeFileError(arguments.file, root, status) << "\n";
    return ExitStatus::kFixRequest;
  };
  const absl::StatusOr<SweepFile> file = ParseSweepFile(text);
  if (!file.ok()) return refuse(YamlNode(), file.status());

  v1::CreateSweepRequest request;
  *request.mutable_spec() = file->spec;
  request.set_validate_only(arguments.dry_run);
  request.set_request_id(arguments.request_id.empty() ? RandomId() : arguments.request_id);
  request.set_creator(session.environment().user);
  const absl::StatusOr<v1::CreateSweepResponse> response = CreateSweep(session, request);
  if (absl::IsInvalidArgument(response.status()) || absl::IsAlreadyExists(response.status())) {
    return refuse(file->root, response.status());
  }
  if (!response.ok()) return response.status();
  if (arguments.dry_run) {
    PrintPlan(file->spec.name(), response->plan(), session.format(), &session.out());
    session.err() << "nothing is queued\n";
    return ExitStatus::kDone;
  }
  PrintCreated(session, *response);
  if (!arguments.wait) return ExitStatus::kDone;
  return Follow(session, {.sweep = absl::StrCat(response->sweep().id()),
                          .out = &session.err(),
                          .terminal = session.environment().err_is_terminal,
                          .format = Format::kTable});
}

}  // namespace

Action DefineSubmit(CLI::App* app) {
  const auto arguments = std::make_shared<Arguments>();
  app->add_option("FILE", arguments->file, "Sweep file")->required();
  app->add_flag("--dry-run", arguments->dry_run, "Print the plan and queue nothing");
  app->add_flag("--wait", arguments->wait, "Follow the sweep until it ends");
  app->add_option("--request-id", arguments->request_id, "Makes repeats of this submit safe; default random")
      ->type_name("ID");
  return [arguments](Session& session) { return Submit(session, *arguments); };
}

}  // namespace stepcurve
