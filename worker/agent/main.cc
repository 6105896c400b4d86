// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "proto/support/logging.h"
#include "worker/agent/agent.h"
#include "worker/agent/flags.h"
#include "worker/agent/uplink.h"

namespace stepcurve {
namespace {

constexpr int kKilled = 1;
constexpr int kNoServer = 3;

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Turns the first SIGTERM or SIGINT into a drain that ends within `timeout`, the second into the end. To be made after
// the signals are blocked in every thread.
class DrainOnSignal final {
 public:
  DrainOnSignal(Agent& agent, Uplink& uplink, absl::Duration timeout)
      : thread_([this, &agent, &uplink, timeout] { Serve(agent, uplink, timeout); }) {}
  ~DrainOnSignal() {
    done_ = true;
    pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  void Serve(Agent& agent, Uplink& uplink, absl::Duration timeout) {
    const sigset_t signals = StopSignals();
    int signal = 0;
    sigwait(&signals, &signal);
    if (done_) return;
    spdlog::info("draining: handing everything back within {}; a second signal ends this at once",
                 absl::FormatDuration(timeout));
    agent.Drain(/*finish=*/false);
    const timespec limit = absl::ToTimespec(timeout);
    if (sigtimedwait(&signals, nullptr, &limit) >= 0) {
      if (!done_) _exit(kKilled);
      return;
    }
    spdlog::warn("{} attempts were not handed back in time; their lease will run out", agent.unsettled());
    uplink.Cancel();
    sigwait(&signals, &signal);
    if (!done_) _exit(kKilled);
  }

  std::atomic<bool> done_ = false;
  std::thread thread_;
};

int Main(const WorkerFlags& flags) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  Agent::Options options{.name = flags.name,
                         .build = STEPCURVE_VERSION,
                         .sweeps = flags.sweeps,
                         .devices = flags.devices,
                         .trainer = flags.trainer,
                         .exit_when_idle = flags.exit_when_idle};
  if (!flags.datasets.empty()) options.trainer_arguments = {absl::StrCat("--datasets=", flags.datasets)};
  for (const DeviceSlots& device : flags.devices) {
    spdlog::info("{}: {} slots of {} threads", device.device, device.slots, device.threads);
  }
  if (flags.trainer.empty()) spdlog::warn("there is no stepcurve-trainer beside this program: only the quadratic runs");

  Agent agent(options);
  Uplink uplink({.server = flags.server, .agent = &agent, .connect_timeout = flags.connect_timeout});
  absl::Status status;
  {
    DrainOnSignal drain(agent, uplink, flags.drain_timeout);
    status = uplink.Run();
  }
  if (absl::IsUnavailable(status)) {
    spdlog::error("{}", std::string(status.message()));
    return kNoServer;
  }
  return 0;
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) {
  const stepcurve::WorkerFlags flags = stepcurve::ReadFlagsOrExit(argc, argv);
  stepcurve::SetUpLogging("stepcurve-worker");
  return stepcurve::Main(flags);
}
