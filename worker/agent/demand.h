// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace stepcurve {

// How many assignments to want for one slot class: one for each free slot, and ahead of that as many as the slots will
// use up while the next ones are on their way. Trials of milliseconds so never wait for a round trip, and trials of
// hours are never held back from other workers. Not thread-safe, no I/O.
class Demand final {
 public:
  explicit Demand(int64_t slots) : slots_(slots) {}

  // A new Hello: totals start again from nothing.
  void Restart();
  void Assigned() { ++assigned_total_; }
  // A trial of this class occupied its slot for so long.
  void Ran(absl::Duration duration);

  // Assignments to hold beyond those that run; `longest` is how long the oldest running one has been at it.
  int64_t Ahead(absl::Duration longest) const;

  // Demand.wanted_total with `held` assignments waiting or running. Never falls between two restarts.
  int64_t WantedTotal(int64_t held, absl::Duration longest);

 private:
  const int64_t slots_;
  int64_t assigned_total_ = 0;
  int64_t wanted_total_ = 0;
  std::optional<absl::Duration> typical_;  // Running mean of durations.
};

}  // namespace stepcurve
