// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/support/clock.h"
#include "worker/agent/runner.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// Runs quadratics of one slot class in this process, each slot on a thread of its own. Thread-safe.
class QuadraticRunner final {
 public:
  // `events` and `clock` outlive the runner.
  QuadraticRunner(SlotId slots, RunEvents* events, const Clock* clock);  // slots.slot: how many.
  // Stops what runs and waits for it.
  ~QuadraticRunner();

  // Starts `run` in a free slot.
  void Run(int slot, TrialRun run);
  // Makes the slot's run end soon. Without effect where none is running.
  void Stop(int slot);

 private:
  struct Slot;
  void Serve(int index, Slot& slot);

  const int slot_class_;
  RunEvents* const events_;
  const Clock* const clock_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace stepcurve
