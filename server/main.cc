// SPDX-License-Identifier: Apache-2.0
//
// stepcurve-server: flags, logging, signals; the rest is StepcurveServer.
#include <grpc/support/log.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/support/logging.h"
#include "proto/support/status_macros.h"
#include "server/listen_address.h"
#include "server/port_file.h"
#include "server/server.h"
#include "server/server_flags.h"
#include "server/store/private_postgres.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

constexpr char kUsage[] =
    R"(takes sweeps in, hands their trials to workers, stores what they measure, answers curves.

  stepcurve-server                                  all state in a private PostgreSQL under --data_dir
  stepcurve-server --data_dir=/var/lib/stepcurve    the same, elsewhere
  stepcurve-server --database="host=db dbname=stepcurve user=stepcurve"
                                                    in a database that exists; any number of servers may share it;
                                                    the password comes from ~/.pgpass or $PGPASSFILE

Then start a worker, stepcurve-worker --server=localhost:7070, and submit a sweep, stepcurve submit FILE.
SIGTERM drains: workers go on training and come back to the next server. A second one stops at once.
Flags may stand in a file, one a line: --flagfile=FILE. Log level by STEPCURVE_LOG=debug|info|warn|error.
Exit codes: 0 stopped by a signal, 1 failed, 2 fix the flags or the database, 3 try again.)";

constexpr absl::Duration kPatience = absl::Seconds(5);

enum ExitCode { kStopped = 0, kFailed = 1, kFixIt = 2, kTryAgain = 3 };

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kStopped;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return kTryAgain;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
      return kFailed;
    default:
      return kFixIt;
  }
}

// gRPC's own lines say in its words what our statuses say in ours; they are for debugging.
void LogOfGrpc(gpr_log_func_args* args) { spdlog::debug("grpc: {}", args->message); }

// Waits for the first SIGTERM or SIGINT, then lets a second one end the process whatever it is doing.
void AwaitSignal(const sigset_t& signals) {
  int number = 0;
  sigwait(&signals, &number);
  spdlog::info("{}: draining; a second one stops at once", number == SIGINT ? "SIGINT" : "SIGTERM");
  std::thread([signals] {
    int second = 0;
    sigwait(&signals, &second);
    _exit(128 + second);
  }).detach();
}

absl::Status Run(const ServerFlags& flags, const sigset_t& signals) {
  if (!flags.port_file.empty()) {
    std::remove(flags.port_file.c_str());  // Of an earlier server: whoever waits for the file waits for this one.
  }
  StepcurveServer::Options options = flags.server;
  STEPCURVE_RETURN_IF_ERROR(CheckListenAddress(options.listen));  // Before a cluster is made for nothing.
  std::unique_ptr<PrivatePostgres> postgres;
  if (options.database.conninfo.empty()) {
    spdlog::info("private PostgreSQL under {}", flags.data_dir);
    STEPCURVE_ASSIGN_OR_RETURN(postgres, PrivatePostgres::Start(flags.data_dir));
    options.database.conninfo = postgres->conninfo();
  }
  STEPCURVE_ASSIGN_OR_RETURN(const std::unique_ptr<StepcurveServer> server, StepcurveServer::Start(options));
  if (!flags.port_file.empty()) {
    STEPCURVE_RETURN_IF_ERROR(WritePortFile(flags.port_file, server->port()));
  }
  spdlog::info("stepcurve-server {} serves at {}, port {}", STEPCURVE_VERSION, options.listen, server->port());
  AwaitSignal(signals);
  server->Stop(kPatience);
  spdlog::info("stopped");
  return absl::OkStatus();
}

// Of the process while absl's parser may end it, which it does with 1 for help and for wrong flags alike.
int exit_code_while_parsing = kStopped;
bool parsing = false;

std::vector<char*> ParseFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    const bool asks = absl::StartsWith(argument, "--help") || absl::StartsWith(argument, "-help") ||
                      argument == "--version" || argument == "-version";
    exit_code_while_parsing = asks ? kStopped : kFixIt;
    if (asks) {
      break;
    }
  }
  std::atexit([] {
    if (parsing) {
      std::fflush(nullptr);
      _exit(exit_code_while_parsing);
    }
  });
  parsing = true;
  std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  parsing = false;
  return rest;
}

int Main(int argc, char** argv) {
  // Before any thread: all of them leave these to AwaitSignal.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  absl::SetProgramUsageMessage(kUsage);
  absl::FlagsUsageConfig usage;
  usage.version_string = [] { return absl::StrCat("stepcurve-server ", STEPCURVE_VERSION, "\n"); };
  usage.contains_help_flags = [](absl::string_view file) { return absl::EndsWith(file, "server/server_flags.cc"); };
  usage.contains_helpshort_flags = usage.contains_help_flags;
  usage.contains_helppackage_flags = usage.contains_help_flags;
  usage.normalize_filename = [](absl::string_view file) {
    const size_t folder = file.rfind("server/");  // Flags of libraries lie elsewhere.
    return std::string(folder == absl::string_view::npos ? file : file.substr(folder));
  };
  absl::SetFlagsUsageConfig(usage);
  const std::vector<char*> rest = ParseFlags(argc, argv);

  SetUpLogging("stepcurve-server");
  gpr_set_log_function(LogOfGrpc);
  absl::StatusOr<ServerFlags> flags = ReadServerFlags({rest.begin() + 1, rest.end()});
  const absl::Status status = flags.ok() ? Run(*flags, signals) : flags.status();
  if (!status.ok()) {
    std::fprintf(stderr, "stepcurve-server: %s\n", std::string(status.message()).c_str());
  }
  return ExitCodeOf(status);
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) { return stepcurve::Main(argc, argv); }
