// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/analysis/envelope.h"

namespace stepcurve {

// The envelopes asked for last, each good for one results_version. Bounded; drops the least recently used. Thread-safe.
class EnvelopeCache final {
 public:
  explicit EnvelopeCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // nullptr where it holds none of that version.
  std::shared_ptr<const Envelope> Find(const std::string& key, int64_t version);
  void Put(const std::string& key, int64_t version, std::shared_ptr<const Envelope> envelope);

 private:
  struct Entry {
    std::string key;
    int64_t version = 0;
    std::shared_ptr<const Envelope> envelope;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  void Drop(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t max_bytes_;
  absl::Mutex mu_;
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  Entries recent_ ABSL_GUARDED_BY(mu_);  // Newest use first.
  absl::flat_hash_map<std::string, Entries::iterator> by_key_ ABSL_GUARDED_BY(mu_);
};

}  // namespace stepcurve
