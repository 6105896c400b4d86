// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/quadratic_runner.h"

#include <atomic>
#include <utility>

#include "worker/quadratic/run_quadratic.h"

namespace stepcurve {

struct QuadraticRunner::Slot {
  std::atomic<bool> stop = false;
  absl::Mutex mu;
  std::optional<TrialRun> next ABSL_GUARDED_BY(mu);
  bool closing ABSL_GUARDED_BY(mu) = false;
  std::thread thread;
};

QuadraticRunner::QuadraticRunner(SlotId slots, RunEvents* events, const Clock* clock)
    : slot_class_(slots.slot_class), events_(events), clock_(clock) {
  for (int i = 0; i < slots.slot; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    Slot& slot = *slots_.back();
    slot.thread = std::thread([this, i, &slot] { Serve(i, slot); });
  }
}

QuadraticRunner::~QuadraticRunner() {
  for (const auto& slot : slots_) {
    slot->stop = true;
    absl::MutexLock lock(&slot->mu);
    slot->closing = true;
  }
  for (const auto& slot : slots_) {
    slot->thread.join();
  }
}

void QuadraticRunner::Run(int slot, TrialRun run) {
  Slot& target = *slots_[static_cast<size_t>(slot)];
  absl::MutexLock lock(&target.mu);
  target.stop = target.closing;
  target.next = std::move(run);
}

void QuadraticRunner::Stop(int slot) { slots_[static_cast<size_t>(slot)]->stop = true; }

void QuadraticRunner::Serve(int index, Slot& slot) {
  const SlotId id{slot_class_, index};
  TrialSink sink;
  sink.measured = [&](int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds) {
    events_->Measured(id, step, values, train_seconds, eval_seconds);
  };
  sink.progress = [&](int64_t step) { events_->Progressed(id, step); };
  sink.should_stop = [&] { return slot.stop.load(std::memory_order_relaxed); };
  while (true) {
    TrialRun run;
    {
      absl::MutexLock lock(&slot.mu);
      const auto awake = [&slot]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(slot.mu) { return slot.closing || slot.next.has_value(); };
      slot.mu.Await(absl::Condition(&awake));
      if (slot.closing) return;
      run = *std::exchange(slot.next, std::nullopt);
    }
    events_->Ended(id, RunQuadratic(run, sink, *clock_));
  }
}

}  // namespace stepcurve
