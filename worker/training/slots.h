// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// A thread per slot, each running one trial after another. Assign and Stop are for one thread.
class Slots final {
 public:
  // Runs one trial in the slot's thread until it ends, or `stop` becomes true and it sees so.
  using RunTrial = std::function<void(int slot, const TrialRun& run, const std::atomic<bool>& stop)>;

  Slots(int count, RunTrial run_trial);
  // Stops every trial and waits for the threads.
  ~Slots();

  int count() const { return static_cast<int>(slots_.size()); }

  // Gives a slot its next trial, which starts once the one before it has ended.
  void Assign(int slot, const TrialRun& run);
  // Stops the trial that was assigned last, if it has not ended.
  void Stop(int slot);

 private:
  struct Assignment {
    TrialRun run;
    std::atomic<bool> stop = false;
  };
  struct Slot {
    absl::Mutex mu;
    std::shared_ptr<Assignment> next ABSL_GUARDED_BY(mu);
    bool closing ABSL_GUARDED_BY(mu) = false;
    std::shared_ptr<Assignment> latest;  // Of the assigning thread.
    std::thread thread;
  };

  void Serve(int number, Slot& slot);

  const RunTrial run_trial_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace stepcurve
