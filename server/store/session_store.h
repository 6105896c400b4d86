// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/core/claim_plan.h"
#include "server/core/events.h"
#include "server/core/retry_caps.h"
#include "server/store/database.h"

namespace stepcurve {

struct HeldAttempt {
  int64_t trial = 0;
  int64_t attempt = 0;
};

struct HelloRequest {
  std::string key;
  std::string replaces;
  std::string worker_name;
  std::string build;
  std::string server_name;
  std::vector<SlotClass> slot_classes;
  Capabilities can_run;
  std::vector<std::string> versions;  // Of libraries, for people.
  std::vector<std::string> sweeps;    // Names or ids; empty: all.
  std::vector<HeldAttempt> held;
};

struct HelloResult {
  int64_t session = 0;
  int64_t stream = 0;               // To present with every claim.
  std::vector<Standing> standings;  // One per held attempt.
};

struct SessionRow {
  int64_t id = 0;
  std::string key;
  std::string worker_name;
  std::string build;
  std::string server_name;
  std::vector<SlotClass> slot_classes;
  Capabilities can_run;
  std::optional<std::vector<int64_t>> sweeps;
  int64_t running = 0;
  absl::Time start_time;
  std::optional<absl::Time> ended_at;
  std::string end_reason;
};

// Sessions and their leases. Only the database's clock judges them. Every method is one transaction unless it says
// otherwise. Thread-safe.
class SessionStore final {
 public:
  struct Options {
    Database* database = nullptr;  // Not owned; outlives the store.
    absl::Duration lease = absl::Seconds(60);
    RetryCaps caps;
  };
  explicit SessionStore(const Options& options);

  // Registers a session or finds it again, raises its stream number, and settles what it holds: listed attempts that
  // are still its own stay, what it runs by our record and does not list goes back to the queue uncounted. A session
  // named in `replaces` is ended and its listed attempts move here with their numbers. FAILED_PRECONDITION when the
  // session has ended: a new id is needed.
  absl::StatusOr<HelloResult> Hello(const HelloRequest& hello);

  // Renews leases; returns the sessions that were not renewed because they have ended.
  absl::StatusOr<std::vector<int64_t>> Renew(const std::vector<int64_t>& sessions);

  // Ends a session now, with the reason that people are shown. Its trials come back by ReleaseEnded. Idempotent.
  absl::Status End(int64_t session, const std::string& reason);

  // Stamps service.seen_at, and available_since where seen_at was older than a third of a lease.
  absl::Status StampService();

  // First half of reaping: ends sessions whose lease is past, one-way, provided the servers had the database for at
  // least a lease. Returns them.
  absl::StatusOr<std::vector<int64_t>> EndExpired();

  // Second half, its own transaction with a later snapshot: requeues (or fails, at the caps) up to `limit` trials of
  // ended sessions, counting a loss where the attempt had started. True while more remain. Any server, again and again.
  struct ReleaseResult {
    bool more = false;
    std::vector<int64_t> sweeps_to_check;  // For SweepStore::EndFinished.
  };
  absl::StatusOr<ReleaseResult> ReleaseEnded(int limit);

  absl::StatusOr<std::vector<SessionRow>> List(absl::Duration ended_within);
  absl::StatusOr<std::vector<SessionRow>> Live();

 private:
  Options options_;
};

}  // namespace stepcurve
