// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/flags.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/channel/dial.h"
#include "proto/support/status_macros.h"

ABSL_FLAG(std::string, server, "localhost:7070", "HOST:PORT of any server of the database");
ABSL_FLAG(std::string, name, "", "name of this worker, for people");
ABSL_FLAG(std::vector<std::string>, sweeps, {}, "work for these sweeps only");
ABSL_FLAG(std::string, device, "auto", "auto, cpu, or cuda:N,cuda:N,...");
ABSL_FLAG(std::string, slots, "auto", "trials at once on each device");
ABSL_FLAG(int64_t, threads_per_slot, 1, "processor threads of each slot");
ABSL_FLAG(std::string, datasets, "", "folder with the data sets");
ABSL_FLAG(std::string, trainer, "", "program that trains");
ABSL_FLAG(absl::Duration, exit_when_idle, absl::InfiniteDuration(), "exit after so long without a trial");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30), "time to hand everything back after SIGTERM");
ABSL_FLAG(absl::Duration, connect_timeout, absl::InfiniteDuration(), "exit after so long without a server");
ABSL_FLAG(bool, version, false, "print the version");

namespace stepcurve {
namespace {

constexpr char kHelp[] =
    R"(stepcurve-worker runs the trials of a stepcurve-server on this machine.

  stepcurve-worker --server=HOST:PORT [FLAG...]

It dials the server, offers slots, and trains what it is given: the noisy quadratic by itself, everything else in one
stepcurve-trainer a device. Measurements are kept here until the server has them on disk. It may be killed, cut off or
outlived by any server at any time: what it ran is then given to another worker.

Where to
  --server=HOST:PORT        any server of the database (localhost:7070)
  --sweeps=NAME,...         work for these sweeps only, by name or id (all)
  --name=TEXT               shown by `stepcurve workers` (host/process)
  --connect_timeout=TIME    exit with 3 after so long without a server that answers (inf: keep trying)
What to run on
  --device=auto|cpu|cuda:0,cuda:1,...
                            auto: every NVIDIA device that CUDA_VISIBLE_DEVICES leaves, else the processor
  --slots=auto|N            trials at once on each device (auto: one on a CUDA device; on the processor as many
                            as its threads allow)
  --threads_per_slot=N      processor threads of each slot (1); results are reproducible only for the same number
  --datasets=DIR            folder with a folder for each data set (/usr/share/datasets)
  --trainer=PATH            program that trains (stepcurve-trainer beside this one; without it the quadratic alone)
When to stop
  --exit_when_idle=TIME     exit with 0 after so long without a trial (inf), as in an array job: 10m
  --drain_timeout=TIME      on SIGTERM or SIGINT: stop at the next step, hand back what runs, exit with 0 within this
                            time (30s); a second signal exits at once
Others
  --flagfile=FILE           flags from a file, one a line
  --version, --help

Log on stderr; STEPCURVE_LOG=debug says more. Exit status: 0 done, 1 killed by a second signal, 2 wrong flags,
3 no server.

  stepcurve-worker --server=head:7070 --device=cuda:0 --datasets=/data --exit_when_idle=10m
)";

[[noreturn]] void ExitWrong(const absl::Status& status) {
  std::cerr << "stepcurve-worker: " << status.message() << "\n";
  std::exit(2);
}

// absl ends the process with 1 for flags it does not know or cannot parse, after its one line; ours is 2.
bool parsing = false;
void ExitWithTwoWhileParsing() {
  if (!parsing) return;
  std::fflush(nullptr);
  _exit(2);
}

std::string HostAndProcess() {
  char host[256] = "unknown";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, "/", getpid());
}

absl::StatusOr<std::string> FindTrainer(const std::string& flag) {
  if (!flag.empty()) {
    if (access(flag.c_str(), X_OK) == 0 && !std::filesystem::is_directory(flag)) return flag;
    return absl::InvalidArgumentError(absl::StrCat("--trainer is ", flag, "; no such program"));
  }
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / "stepcurve-trainer").string();
  return access(beside.c_str(), X_OK) == 0 ? beside : "";
}

absl::Status CheckPositive(absl::string_view flag, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag, " is ", absl::FormatDuration(value), "; it must be above 0, as in 90s or 10m"));
}

absl::StatusOr<WorkerFlags> ReadFlags() {
  WorkerFlags flags{.server = absl::GetFlag(FLAGS_server),
                    .name = absl::GetFlag(FLAGS_name),
                    .sweeps = absl::GetFlag(FLAGS_sweeps),
                    .datasets = absl::GetFlag(FLAGS_datasets),
                    .exit_when_idle = absl::GetFlag(FLAGS_exit_when_idle),
                    .drain_timeout = absl::GetFlag(FLAGS_drain_timeout),
                    .connect_timeout = absl::GetFlag(FLAGS_connect_timeout)};
  if (const absl::Status status = CheckAddress(flags.server); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--server: ", status.message()));
  }
  if (!flags.datasets.empty() && !std::filesystem::is_directory(flags.datasets)) {
    return absl::InvalidArgumentError(absl::StrCat("--datasets is ", flags.datasets, "; there is no such folder"));
  }
  if (flags.name.empty()) flags.name = HostAndProcess();
  STEPCURVE_RETURN_IF_ERROR(CheckPositive("exit_when_idle", flags.exit_when_idle));
  STEPCURVE_RETURN_IF_ERROR(CheckPositive("drain_timeout", flags.drain_timeout));
  STEPCURVE_RETURN_IF_ERROR(CheckPositive("connect_timeout", flags.connect_timeout));
  STEPCURVE_ASSIGN_OR_RETURN(flags.devices, PlanDevices(absl::GetFlag(FLAGS_device), absl::GetFlag(FLAGS_slots),
                                                        absl::GetFlag(FLAGS_threads_per_slot), Machine::Here()));
  STEPCURVE_ASSIGN_OR_RETURN(flags.trainer, FindTrainer(absl::GetFlag(FLAGS_trainer)));
  return flags;
}

bool IsCuda(absl::string_view device) {
  int index = 0;
  return absl::ConsumePrefix(&device, "cuda:") && absl::SimpleAtoi(device, &index) && index >= 0;
}

}  // namespace

Machine Machine::Here() {
  Machine machine;
  machine.processors = std::max(1U, std::thread::hardware_concurrency());
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    const std::vector<std::string> devices = absl::StrSplit(visible, ',', absl::SkipWhitespace());
    machine.cuda_devices = static_cast<int64_t>(devices.size());
    return machine;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/driver/nvidia/gpus", error), end; !error && entry != end;
       entry.increment(error)) {
    ++machine.cuda_devices;
  }
  return machine;
}

absl::StatusOr<std::vector<DeviceSlots>> PlanDevices(absl::string_view device, absl::string_view slots,
                                                     int64_t threads_per_slot, const Machine& machine) {
  if (threads_per_slot < 1 || threads_per_slot > 1024) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads_per_slot is ", threads_per_slot, "; it must be from 1 to 1024"));
  }
  int64_t count = 0;
  if (slots != "auto" && (!absl::SimpleAtoi(slots, &count) || count < 1 || count > 256)) {
    return absl::InvalidArgumentError(absl::StrCat("--slots is ", slots, "; it must be auto or from 1 to 256"));
  }
  std::vector<std::string> devices = absl::StrSplit(device, ',');
  if (device == "auto") {
    devices.clear();
    for (int64_t i = 0; i < machine.cuda_devices; ++i) {
      devices.push_back(absl::StrCat("cuda:", i));
    }
    if (devices.empty()) devices = {"cpu"};
  }
  std::vector<DeviceSlots> plan;
  for (const std::string& name : devices) {
    const bool twice = std::any_of(plan.begin(), plan.end(), [&](const DeviceSlots& d) { return d.device == name; });
    if ((name != "cpu" && !IsCuda(name)) || twice) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device is ", device, "; it must be auto, cpu, or cuda:0,cuda:1,... without repetition"));
    }
    const int64_t of_processor = std::clamp<int64_t>(machine.processors / threads_per_slot, 1, 256);
    const int64_t most = name == "cpu" ? of_processor : 1;
    plan.push_back({.device = name, .slots = count > 0 ? count : most, .threads = threads_per_slot});
  }
  return plan;
}

WorkerFlags ReadFlagsOrExit(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--") break;
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      std::cout << kHelp;
      std::exit(0);
    }
  }
  std::atexit(&ExitWithTwoWhileParsing);
  parsing = true;
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  parsing = false;
  if (absl::GetFlag(FLAGS_version)) {
    std::cout << "stepcurve-worker " << STEPCURVE_VERSION << "\n";
    std::exit(0);
  }
  if (rest.size() > 1) {
    ExitWrong(absl::InvalidArgumentError(
        absl::StrCat("\"", rest[1], "\" is not a flag; flags are --NAME=VALUE (see --help)")));
  }
  absl::StatusOr<WorkerFlags> flags = ReadFlags();
  if (!flags.ok()) ExitWrong(flags.status());
  return *std::move(flags);
}

}  // namespace stepcurve
