// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "worker/agent/runner.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// A stepcurve-trainer of one device, kept alive: started by exec with a socket pair as its file descriptor 3, started
// again with back-off when it dies. It dies with this object and with this process, however that ends. Thread-safe.
class TrainerProcess final {
 public:
  struct Options {
    std::string program;
    std::vector<std::string> arguments;  // Without the program's name.
    SlotId slots;                        // slot: how many.
    RunEvents* events = nullptr;         // Not owned; outlives this.
    absl::Duration first_backoff = absl::Seconds(1);
    absl::Duration max_backoff = absl::Seconds(60);
  };

  explicit TrainerProcess(const Options& options);
  ~TrainerProcess();

  // Starts `run` in a free slot of the trainer that was ready as `incarnation`. Without effect once that one has died.
  void Run(int64_t incarnation, int slot, const TrialRun& run);
  void Stop(int slot);
  // Kills the trainer; another follows.
  void Kill();

 private:
  void Supervise();
  absl::StatusOr<pid_t> Spawn(int* fd);
  // Passes on what the trainer says until it says no more; the status says why.
  absl::Status Listen(int fd);
  absl::Status Handle(const Frame& frame);
  void Send(const Frame& frame);

  const Options options_;
  absl::Mutex mu_;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  pid_t pid_ ABSL_GUARDED_BY(mu_) = -1;
  int fd_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t incarnation_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Mutex write_mu_;  // One frame at a time; taken before mu_.
  bool ready_ = false;    // Of the supervising thread alone.
  std::thread supervisor_;
};

}  // namespace stepcurve
