// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/ingest.h"

#include <algorithm>
#include <utility>

namespace stepcurve {

Ingest::Ingest(const Options& options) {
  for (const FlushFn& flush : options.flushers) {
    Lane lane;
    lane.queue = std::make_unique<EventQueue>(options.queue);
    lane.flusher = std::make_unique<Flusher>(lane.queue.get(), flush, options.after);
    lanes_.push_back(std::move(lane));
  }
}

Ingest::~Ingest() { Drain(absl::ZeroDuration()); }

Ingest::Inlet Ingest::Open(int64_t session, std::weak_ptr<EventListener> listener) {
  EventQueue* queue = lanes_[static_cast<uint64_t>(session) % lanes_.size()].queue.get();
  return Inlet(queue, queue->Open(std::move(listener)));
}

void Ingest::Drain(absl::Duration patience) {
  const absl::Time deadline = Clock::System()->Now() + patience;
  for (Lane& lane : lanes_) {
    lane.queue->Stop();
  }
  for (Lane& lane : lanes_) {
    lane.flusher->Drain(std::max(absl::ZeroDuration(), deadline - Clock::System()->Now()));
  }
}

size_t Ingest::bytes() const {
  size_t sum = 0;
  for (const Lane& lane : lanes_) {
    sum += lane.queue->bytes();
  }
  return sum;
}

}  // namespace stepcurve
