// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/fleet/recurring.h"
#include "server/fleet/session_registry.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"

namespace stepcurve {

// A thread that does what any server may do for all: stamps the service, ends sessions whose lease is past and requeues
// what they held, turns the trials of cancelled sweeps, ends finished sweeps; and that tells this server's workers
// which of their sweeps were cancelled.
class Janitor final {
 public:
  // Not owned; all outlive the janitor.
  struct Options {
    SessionStore* sessions = nullptr;
    SweepStore* sweeps = nullptr;
    SessionRegistry* registry = nullptr;
    absl::Duration period = absl::Seconds(1);
    std::function<void()> work_appeared;         // Trials have come back.
    std::function<void(bool answers)> database;  // Whether it does; called every period.
  };
  explicit Janitor(const Options& options);

  void Stop() { thread_.Stop(); }

 private:
  absl::Duration Run();
  absl::Status DoRounds();
  absl::Status EndSessions();
  absl::Status ReleaseTrials();
  absl::Status TellOfCancelledSweeps();
  absl::Status TurnCancelledTrials();
  absl::Status EndSweeps();

  const Options options_;
  absl::Time last_end_sweeps_ = absl::InfinitePast();
  bool failing_ = false;
  Recurring thread_;
};

}  // namespace stepcurve
