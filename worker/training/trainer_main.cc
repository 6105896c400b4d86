// SPDX-License-Identifier: Apache-2.0
//
// stepcurve-trainer: trains with Torch what stepcurve-worker, which starts it, tells it to over a socket (descriptor
// 3).
#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/support/clock.h"
#include "proto/support/logging.h"
#include "spdlog/spdlog.h"
#include "worker/data/image_files.h"
#include "worker/run/frames.h"
#include "worker/training/catch_torch.h"
#include "worker/training/device.h"
#include "worker/training/slots.h"
#include "worker/training/trial_runner.h"

ABSL_FLAG(std::string, device, "cpu", "cpu or cuda:N");
ABSL_FLAG(int, slots, 1, "trials at once, 1 to 256");
ABSL_FLAG(int, threads, 1, "threads per slot, 1 to 1024");
ABSL_FLAG(std::string, datasets, std::string(stepcurve::kDefaultDatasetsFolder), "folder with a folder per data set");

namespace stepcurve {
namespace {

constexpr int kDaemon = 3;  // The descriptor that leads to the daemon.
constexpr absl::Duration kProgressInterval = absl::Seconds(1);

// The daemon's end of the socket. Thread-safe. Writes after the daemon has gone are lost: the reading side sees it too.
class Daemon final {
 public:
  void Send(const Frame& frame) {
    absl::MutexLock lock(&mu_);
    const absl::Status status = WriteFrame(kDaemon, frame);
    if (!status.ok()) spdlog::debug("the daemon has gone: {}", std::string(status.message()));
  }

 private:
  absl::Mutex mu_;  // Keeps frames whole.
};

bool StartedByDaemon() {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(kDaemon, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// What the trial in `slot` tells the daemon.
TrialSink SinkTo(Daemon& daemon, int slot, const std::atomic<bool>& stop) {
  TrialSink sink;
  sink.measured = [&daemon, slot](int64_t step, const std::vector<double>& values, double train_seconds,
                                  double eval_seconds) {
    daemon.Send(MeasuredFrame{slot, step, values, train_seconds, eval_seconds});
  };
  sink.progress = [&daemon, slot, last = absl::InfinitePast()](int64_t step) mutable {
    const absl::Time now = Clock::System()->Now();
    if (now - last < kProgressInterval) return;
    last = now;
    daemon.Send(ProgressFrame{slot, step});
  };
  sink.should_stop = [&stop] { return stop.load(std::memory_order_relaxed); };
  return sink;
}

int Serve(const TrialRunner& runner, const DeviceReport& device, std::string warning) {
  const int threads = absl::GetFlag(FLAGS_threads);
  Daemon daemon;
  Slots slots(absl::GetFlag(FLAGS_slots), [&](int slot, const TrialRun& run, const std::atomic<bool>& stop) {
    UseThreads(threads);
    daemon.Send(EndedFrame{slot, runner.Run(run, SinkTo(daemon, slot, stop))});
  });

  ReadyFrame ready = runner.ready();
  ready.device = device.kind;
  ready.memory_bytes = device.memory_bytes;
  ready.description = device.description;
  ready.versions = device.versions;
  if (!warning.empty()) ready.warnings.push_back(std::move(warning));
  daemon.Send(ready);

  while (true) {
    absl::StatusOr<Frame> frame = ReadFrame(kDaemon);
    if (!frame.ok()) {
      if (absl::IsOutOfRange(frame.status())) return 0;
      spdlog::error("lost the daemon: {}", std::string(frame.status().message()));
      return 1;
    }
    const auto known = [&](int32_t slot) {
      if (slot >= 0 && slot < slots.count()) return true;
      spdlog::error("the daemon names slot {}; there are {}", slot, slots.count());
      return false;
    };
    if (const auto* run = std::get_if<RunFrame>(&*frame)) {
      if (known(run->slot)) slots.Assign(run->slot, run->run);
    } else if (const auto* stop = std::get_if<StopFrame>(&*frame)) {
      if (known(stop->slot)) slots.Stop(stop->slot);
    } else {
      spdlog::error("the daemon sent a frame that only a trainer sends");
    }
  }
}

int Main() {
  if (!StartedByDaemon()) {
    std::cerr << "stepcurve-trainer is started by stepcurve-worker, which talks to it over descriptor " << kDaemon
              << "; run stepcurve-worker instead\n";
    return 2;
  }
  // A terminal's Ctrl-C and a service manager's stop reach the whole group; the daemon decides what they mean.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  fcntl(kDaemon, F_SETFD, FD_CLOEXEC);
  PrepareProcess();

  const int threads = absl::GetFlag(FLAGS_threads);
  const int slots = absl::GetFlag(FLAGS_slots);
  if (threads < 1 || threads > 1024 || slots < 1 || slots > 256) {
    spdlog::error("--slots={} --threads={}: expected 1 to 256 slots and 1 to 1024 threads", slots, threads);
    return 2;
  }
  const absl::StatusOr<at::Device> device = ParseDevice(absl::GetFlag(FLAGS_device));
  if (!device.ok()) {
    spdlog::error("--device: {}", std::string(device.status().message()));
    return 2;
  }
  DeviceReport report;
  std::string warning;
  std::unique_ptr<TrialRunner> runner;
  const absl::Status status = CatchTorch([&] {
    report = DescribeDevice(*device);
    if (device->is_cpu()) warning = SlowBlasWarning(threads);
    runner = std::make_unique<TrialRunner>(
        TrialRunner::Options{.device = *device, .datasets = absl::GetFlag(FLAGS_datasets)});
  });
  if (!status.ok()) {
    spdlog::error("device {} does not work: {}", absl::GetFlag(FLAGS_device), std::string(status.message()));
    return 1;
  }
  return Serve(*runner, report, std::move(warning));
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Trains what stepcurve-worker tells it to; started by stepcurve-worker only.");
  absl::ParseCommandLine(argc, argv);
  stepcurve::SetUpLogging("stepcurve-trainer");
  return stepcurve::Main();
}
