// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/fleet/session.h"

namespace stepcurve {

// The sessions whose streams this server holds, at most one stream of each. Thread-safe.
class SessionRegistry final {
 public:
  // Closes an older stream of the same session; where a newer one is there already, this one.
  void Add(std::shared_ptr<Session> session);

  // A stream is gone. Does nothing if another stream of its session is here by now.
  void Remove(const Session& session);

  std::shared_ptr<Session> Find(int64_t session) const;  // Null where there is none.
  std::vector<std::shared_ptr<Session>> All() const;

  // This server is going away: sessions that come from now on are closed at once.
  void CloseForNew();

 private:
  mutable absl::Mutex mu_;
  absl::flat_hash_map<int64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace stepcurve
