// SPDX-License-Identifier: Apache-2.0
#include "worker/training/slots.h"

#include <utility>

namespace stepcurve {

Slots::Slots(int count, RunTrial run_trial) : run_trial_(std::move(run_trial)) {
  for (int number = 0; number < count; ++number) {
    Slot& slot = *slots_.emplace_back(std::make_unique<Slot>());
    slot.thread = std::thread([this, number, &slot] { Serve(number, slot); });
  }
}

Slots::~Slots() {
  for (const std::unique_ptr<Slot>& slot : slots_) {
    if (slot->latest != nullptr) slot->latest->stop = true;
    absl::MutexLock lock(&slot->mu);
    slot->closing = true;
  }
  for (const std::unique_ptr<Slot>& slot : slots_) {
    slot->thread.join();
  }
}

void Slots::Assign(int slot, const TrialRun& run) {
  Slot& target = *slots_[static_cast<size_t>(slot)];
  target.latest = std::make_shared<Assignment>();
  target.latest->run = run;
  absl::MutexLock lock(&target.mu);
  target.next = target.latest;
}

void Slots::Stop(int slot) {
  const Slot& target = *slots_[static_cast<size_t>(slot)];
  if (target.latest != nullptr) target.latest->stop = true;
}

void Slots::Serve(int number, Slot& slot) {
  while (true) {
    std::shared_ptr<Assignment> assignment;
    {
      absl::MutexLock lock(&slot.mu);
      const auto woken = [&slot]()
                             ABSL_EXCLUSIVE_LOCKS_REQUIRED(slot.mu) { return slot.next != nullptr || slot.closing; };
      slot.mu.Await(absl::Condition(&woken));
      if (slot.closing) return;
      assignment = std::move(slot.next);
    }
    run_trial_(number, assignment->run, assignment->stop);
  }
}

}  // namespace stepcurve
