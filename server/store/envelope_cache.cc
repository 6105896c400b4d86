// SPDX-License-Identifier: Apache-2.0
#include "server/store/envelope_cache.h"

#include <iterator>
#include <utility>

namespace stepcurve {
namespace {

size_t BytesOf(const std::string& key, const Envelope& envelope) {
  constexpr size_t kEntry = 3 * sizeof(int64_t) + sizeof(double);
  size_t bytes = 256 + 2 * key.size();  // Bookkeeping, roughly.
  for (const EnvelopeLayer& layer : envelope.layers) bytes += kEntry * layer.steps.size();
  return bytes;
}

}  // namespace

std::shared_ptr<const Envelope> EnvelopeCache::Find(const std::string& key, int64_t version) {
  absl::MutexLock lock(&mu_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->version != version) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->envelope;
}

void EnvelopeCache::Put(const std::string& key, int64_t version, std::shared_ptr<const Envelope> envelope) {
  const size_t bytes = BytesOf(key, *envelope);
  if (bytes > max_bytes_) return;
  absl::MutexLock lock(&mu_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) Drop(found->second);
  while (bytes_ + bytes > max_bytes_) Drop(std::prev(recent_.end()));
  recent_.push_front({key, version, std::move(envelope), bytes});
  by_key_[key] = recent_.begin();
  bytes_ += bytes;
}

void EnvelopeCache::Drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  recent_.erase(entry);
}

}  // namespace stepcurve
