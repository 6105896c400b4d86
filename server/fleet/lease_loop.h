// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"
#include "server/fleet/recurring.h"
#include "server/fleet/session_registry.h"
#include "server/store/session_store.h"

namespace stepcurve {

// A thread that renews the leases of the sessions that were heard of, and of those that this server does not read at
// the moment. Nothing else uses it or its database connection, so that no other load can cost a worker its lease.
class LeaseLoop final {
 public:
  // Not owned; all outlive the loop.
  struct Options {
    SessionStore* sessions = nullptr;
    SessionRegistry* registry = nullptr;
    absl::Duration period = absl::Seconds(10);
  };
  explicit LeaseLoop(const Options& options);

  void Stop() { thread_.Stop(); }

 private:
  absl::Duration Run();

  const Options options_;
  bool failing_ = false;
  Recurring thread_;
};

}  // namespace stepcurve
