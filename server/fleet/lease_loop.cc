// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/lease_loop.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "spdlog/spdlog.h"

namespace stepcurve {

LeaseLoop::LeaseLoop(const Options& options) : options_(options), thread_([this] { return Run(); }) {}

absl::Duration LeaseLoop::Run() {
  std::vector<std::shared_ptr<Session>> heard;
  std::vector<int64_t> ids;
  for (std::shared_ptr<Session>& session : options_.registry->All()) {
    if (session->TakeTouched()) {
      ids.push_back(session->id());
      heard.push_back(std::move(session));
    }
  }
  if (heard.empty()) {
    return options_.period;
  }
  const absl::StatusOr<std::vector<int64_t>> ended = options_.sessions->Renew(ids);
  if (!ended.ok()) {
    for (const std::shared_ptr<Session>& session : heard) {
      session->Touch();
    }
    if (!failing_) {
      spdlog::warn("leases of {} sessions cannot be renewed: {}", ids.size(), ended.status().ToString());
    }
    failing_ = true;
    return std::min(options_.period, absl::Seconds(1));
  }
  failing_ = false;
  for (const std::shared_ptr<Session>& session : heard) {
    if (std::find(ended->begin(), ended->end(), session->id()) != ended->end()) {
      session->End("the session has ended");
    }
  }
  return options_.period;
}

}  // namespace stepcurve
