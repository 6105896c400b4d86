// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/event_queue.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "server/ingest/merge.h"

namespace stepcurve {

EventQueue::EventQueue(const Options& options) : options_(options) {}

std::shared_ptr<EventSource> EventQueue::Open(std::weak_ptr<EventListener> listener) {
  auto source = std::make_shared<EventSource>();
  source->listener = std::move(listener);
  return source;
}

bool EventQueue::MustPause(const EventSource& source) const {
  return source.bytes > options_.source_bytes || held_bytes_ > options_.total_bytes;
}

// Half the way down, so that a stream does not flutter between the two.
bool EventQueue::MayResume(const EventSource& source) const {
  return source.bytes <= options_.source_bytes / 2 && held_bytes_ <= options_.total_bytes / 2;
}

bool EventQueue::Push(const std::shared_ptr<EventSource>& source, std::vector<AttemptEvents> events) {
  const absl::Time now = options_.clock->Now();
  absl::MutexLock lock(&mu_);
  if (source->rejected) {
    return true;
  }
  for (AttemptEvents& event : events) {
    const size_t bytes = BytesOf(event);
    items_.push_back({source, std::move(event), bytes, now});
    source->bytes += bytes;
    queued_bytes_ += bytes;
    held_bytes_ += bytes;
  }
  changed_.Signal();
  if (!MustPause(*source)) {
    return true;
  }
  paused_.insert(source);
  return false;
}

QueueSnapshot EventQueue::Snapshot() const {
  return {.events = items_.size(),
          .bytes = queued_bytes_,
          .oldest = items_.empty() ? absl::InfiniteFuture() : items_.front().arrival,
          .stopping = stopping_};
}

std::vector<BatchEntry> EventQueue::Take() {
  absl::MutexLock lock(&mu_);
  while (true) {
    const QueueSnapshot queue = Snapshot();
    if (queue.events == 0 && queue.stopping) {
      return {};
    }
    const absl::Duration wait = UntilFlush(queue, options_.limits, options_.clock->Now());
    if (wait == absl::ZeroDuration()) {
      return TakeNow();
    }
    changed_.WaitWithTimeout(&mu_, wait);
  }
}

std::vector<BatchEntry> EventQueue::TakeNow() {
  std::vector<BatchEntry> batch;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, size_t> entry_of;
  size_t events = 0;
  size_t bytes = 0;
  while (!items_.empty() && events < options_.limits.batch_events && bytes < options_.limits.batch_bytes) {
    Item& item = items_.front();
    const auto [entry, is_new] = entry_of.try_emplace({item.events.trial, item.events.attempt}, batch.size());
    if (is_new) {
      batch.push_back({std::move(item.events), {item.source}, 0});
    } else {
      BatchEntry& earlier = batch[entry->second];
      if (!MergeInto(earlier.events, std::move(item.events))) {
        break;  // The next batch takes it.
      }
      if (std::find(earlier.sources.begin(), earlier.sources.end(), item.source) == earlier.sources.end()) {
        earlier.sources.push_back(item.source);
      }
    }
    batch[entry->second].bytes += item.bytes;
    // Bytes of a merged entry count for the stream that brought it first; the others' are given back now.
    if (batch[entry->second].sources.front() != item.source) {
      item.source->bytes -= item.bytes;
      batch[entry->second].sources.front()->bytes += item.bytes;
    }
    ++events;
    bytes += item.bytes;
    queued_bytes_ -= item.bytes;
    items_.pop_front();
  }
  return batch;
}

void EventQueue::Release(const std::vector<BatchEntry>& batch) {
  std::vector<std::shared_ptr<EventSource>> resumed;
  {
    absl::MutexLock lock(&mu_);
    for (const BatchEntry& entry : batch) {
      entry.sources.front()->bytes -= entry.bytes;
      held_bytes_ -= entry.bytes;
    }
    absl::erase_if(paused_, [&](const std::shared_ptr<EventSource>& source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      if (!MayResume(*source)) {
        return false;
      }
      resumed.push_back(source);
      return true;
    });
  }
  for (const auto& source : resumed) {
    if (const auto listener = source->listener.lock()) {
      listener->Resume();
    }
  }
}

void EventQueue::Reject(const std::shared_ptr<EventSource>& source) {
  absl::MutexLock lock(&mu_);
  source->rejected = true;
  paused_.erase(source);
  std::erase_if(items_, [&](const Item& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (item.source != source) {
      return false;
    }
    source->bytes -= item.bytes;
    queued_bytes_ -= item.bytes;
    held_bytes_ -= item.bytes;
    return true;
  });
}

void EventQueue::Stop() {
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  changed_.SignalAll();
}

void EventQueue::Abandon() {
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  for (const Item& item : items_) {
    item.source->bytes -= item.bytes;
    held_bytes_ -= item.bytes;
  }
  items_.clear();
  queued_bytes_ = 0;
  changed_.SignalAll();
}

size_t EventQueue::bytes() const {
  absl::MutexLock lock(&mu_);
  return held_bytes_;
}

}  // namespace stepcurve
