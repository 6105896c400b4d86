// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/fleet/recurring.h"
#include "server/fleet/session_registry.h"
#include "server/store/claim_store.h"
#include "server/store/session_store.h"

namespace stepcurve {

// A thread that hands trials out: one claim for the unmet demand of all sessions, at once when demand rises or work
// appears on this server and after a full batch, else every `poll` while some demand is unmet, since other servers'
// news is not heard.
class ClaimLoop final {
 public:
  // Not owned; all outlive the loop.
  struct Options {
    ClaimStore* claims = nullptr;
    SessionStore* sessions = nullptr;
    SessionRegistry* registry = nullptr;
    absl::Duration poll = absl::Milliseconds(250);
    int64_t batch = 1000;  // Trials a claim.
  };
  explicit ClaimLoop(const Options& options);

  // Demand rose, or work appeared.
  void Wake() { thread_->Wake(); }
  // Claims no more; returns when a claim under way is over. Idempotent.
  void Stop() { thread_->Stop(); }

 private:
  struct Round {
    std::vector<std::shared_ptr<Session>> sessions;  // That keeps the requests' pointers alive.
    std::vector<ClaimStore::Request> requests;
    int64_t wanted = 0;
    bool full = false;  // More is wanted than one claim takes.
  };
  absl::Duration Run();
  Round Collect();
  // Tells sessions what they were granted; what cannot be told yet waits.
  absl::Status Deliver();
  // Reads what sessions hold whose claim may or may not have been committed.
  absl::Status ResolveDoubts();
  void DropGone(const std::vector<int64_t>& gone);
  absl::Duration Retry(const char* what, const absl::Status& status);

  const Options options_;
  // Of the loop's thread.
  std::vector<Grant> undelivered_;
  std::set<int64_t> in_doubt_;
  size_t turn_ = 0;  // Which session is first in the next round.
  absl::Time last_warning_ = absl::InfinitePast();
  std::unique_ptr<Recurring> thread_;  // Last: it uses all of the above.
};

}  // namespace stepcurve
