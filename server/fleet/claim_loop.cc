// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/claim_loop.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "proto/support/clock.h"
#include "proto/support/status_macros.h"
#include "spdlog/spdlog.h"

namespace stepcurve {

ClaimLoop::ClaimLoop(const Options& options)
    : options_(options), thread_(std::make_unique<Recurring>([this] { return Run(); })) {}

absl::Duration ClaimLoop::Run() {
  if (absl::Status status = ResolveDoubts(); !status.ok()) {
    return Retry("what was claimed is not known yet", status);
  }
  if (absl::Status status = Deliver(); !status.ok()) {
    return Retry("granted trials wait", status);
  }
  const Round round = Collect();
  if (round.requests.empty()) {
    return absl::InfiniteDuration();
  }
  absl::StatusOr<ClaimStore::Result> result = options_.claims->Claim(round.requests);
  if (!result.ok()) {
    if (result.status().code() == absl::StatusCode::kUnknown) {
      for (const ClaimStore::Request& request : round.requests) {
        in_doubt_.insert(request.session->session);
      }
    }
    return Retry("nothing can be handed out", result.status());
  }
  const auto granted = static_cast<int64_t>(result->grants.size());
  undelivered_ = std::move(result->grants);
  if (absl::Status status = Deliver(); !status.ok()) {
    return Retry("granted trials wait", status);
  }
  DropGone(result->gone);
  if (granted < round.wanted) {
    return options_.poll;
  }
  return round.full ? absl::ZeroDuration() : absl::InfiniteDuration();
}

ClaimLoop::Round ClaimLoop::Collect() {
  Round round;
  std::vector<std::shared_ptr<Session>> all = options_.registry->All();
  if (all.empty()) {
    return round;
  }
  std::rotate(all.begin(), all.begin() + turn_++ % all.size(), all.end());
  int64_t room = options_.batch;
  for (const std::shared_ptr<Session>& session : all) {
    std::vector<ClaimDemand> demands = session->Unmet();
    for (ClaimDemand& demand : demands) {
      round.full = round.full || demand.wanted > room;
      demand.wanted = std::min(room, demand.wanted);
      room -= demand.wanted;
      round.wanted += demand.wanted;
    }
    std::erase_if(demands, [](const ClaimDemand& demand) { return demand.wanted == 0; });
    if (!demands.empty()) {
      round.sessions.push_back(session);
      round.requests.push_back({&session->claim(), std::move(demands)});
    }
    if (room == 0) {
      round.full = true;
      break;
    }
  }
  return round;
}

absl::Status ClaimLoop::Deliver() {
  absl::flat_hash_map<int64_t, std::vector<GrantedTrial>> of_session;
  for (const Grant& grant : undelivered_) {
    STEPCURVE_ASSIGN_OR_RETURN(std::shared_ptr<const StudyDefinition> study, options_.claims->Definition(grant.study));
    of_session[grant.session].push_back({grant, std::move(study)});
  }
  for (const auto& [id, grants] : of_session) {
    // Where the stream has gone, the worker's next hello does not list them, or its lease ends: either way they come
    // back.
    if (const std::shared_ptr<Session> session = options_.registry->Find(id)) {
      session->Assign(grants);
    }
  }
  undelivered_.clear();
  return absl::OkStatus();
}

absl::Status ClaimLoop::ResolveDoubts() {
  while (!in_doubt_.empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(std::vector<Grant> held, options_.claims->HeldBy(*in_doubt_.begin()));
    undelivered_.insert(undelivered_.end(), held.begin(), held.end());
    in_doubt_.erase(in_doubt_.begin());
  }
  return absl::OkStatus();
}

void ClaimLoop::DropGone(const std::vector<int64_t>& gone) {
  if (gone.empty()) {
    return;
  }
  // Those that cannot be renewed have ended; the others live on by a newer stream, at another server.
  const absl::StatusOr<std::vector<int64_t>> ended = options_.sessions->Renew(gone);
  if (!ended.ok()) {
    return;  // The next claim says so again.
  }
  for (const int64_t id : gone) {
    const std::shared_ptr<Session> session = options_.registry->Find(id);
    if (session == nullptr) {
      continue;
    }
    if (std::find(ended->begin(), ended->end(), id) != ended->end()) {
      session->End("the session has ended");
    } else {
      session->Close(absl::AbortedError("the session has said hello on a newer stream"));
    }
  }
}

absl::Duration ClaimLoop::Retry(const char* what, const absl::Status& status) {
  const absl::Time now = Clock::System()->Now();
  if (now - last_warning_ > absl::Seconds(30)) {
    spdlog::warn("claims: {}: {}", what, status.ToString());
    last_warning_ = now;
  }
  return options_.poll;
}

}  // namespace stepcurve
