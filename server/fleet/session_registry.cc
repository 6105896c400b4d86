// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/session_registry.h"

#include <utility>

namespace stepcurve {

void SessionRegistry::Add(std::shared_ptr<Session> session) {
  std::shared_ptr<Session> superseded;
  bool closed = false;
  {
    absl::MutexLock lock(&mu_);
    closed = closed_;
    std::shared_ptr<Session>& current = sessions_[session->id()];
    if (current != nullptr && current->stream() > session->stream()) {
      superseded = session;
    } else {
      superseded = std::exchange(current, session);
    }
  }
  if (superseded != nullptr) {
    superseded->Close(absl::AbortedError("the session has said hello on a newer stream"));
  }
  if (closed) {
    session->Close(absl::UnavailableError("this server is going away"));
  }
}

void SessionRegistry::Remove(const Session& session) {
  absl::MutexLock lock(&mu_);
  const auto found = sessions_.find(session.id());
  if (found != sessions_.end() && found->second.get() == &session) {
    sessions_.erase(found);
  }
}

std::shared_ptr<Session> SessionRegistry::Find(int64_t session) const {
  absl::MutexLock lock(&mu_);
  const auto found = sessions_.find(session);
  return found == sessions_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Session>> SessionRegistry::All() const {
  absl::MutexLock lock(&mu_);
  std::vector<std::shared_ptr<Session>> all;
  all.reserve(sessions_.size());
  for (const auto& [id, session] : sessions_) {
    all.push_back(session);
  }
  return all;
}

void SessionRegistry::CloseForNew() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
}

}  // namespace stepcurve
