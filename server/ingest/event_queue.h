// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/support/clock.h"
#include "server/core/events.h"
#include "server/ingest/event_listener.h"
#include "server/ingest/flush_timing.h"

namespace stepcurve {

// A stream's end of a queue; made by EventQueue::Open, given back by dropping it. All but the listener belongs to the
// queue.
struct EventSource {
  std::weak_ptr<EventListener> listener;
  size_t bytes = 0;       // Queued or being flushed.
  bool rejected = false;  // Takes nothing any more.
};

// All that one flush knows of one attempt, and the streams it came from: more than one where a worker has moved to a
// new stream.
struct BatchEntry {
  AttemptEvents events;
  std::vector<std::shared_ptr<EventSource>> sources;
  size_t bytes = 0;
};

// Events on their way to one flusher, in order of arrival. Bounded by asking streams to pause, each for its own sake
// before all for the sake of memory; what was read by then is still taken. Thread-safe; one thread takes.
class EventQueue final {
 public:
  struct Options {
    FlushLimits limits;
    size_t source_bytes = 1 << 20;         // Of one stream, before it is asked to pause.
    size_t total_bytes = 64 << 20;         // Of all, before every stream that pushes is.
    const Clock* clock = Clock::System();  // Not owned; outlives the queue.
  };
  explicit EventQueue(const Options& options);

  std::shared_ptr<EventSource> Open(std::weak_ptr<EventListener> listener);

  // Queues events. False: the stream is to read no more until its listener's Resume.
  bool Push(const std::shared_ptr<EventSource>& source, std::vector<AttemptEvents> events);

  // Waits until a batch is due and takes it: at most one entry per (trial, attempt), in order of arrival. Empty once
  // the queue is stopped and has nothing left.
  std::vector<BatchEntry> Take();

  // The batch has been dealt with: its bytes count no more, and streams may be told to go on.
  void Release(const std::vector<BatchEntry>& batch);

  // Drops whatever this source has queued, and refuses it from now on.
  void Reject(const std::shared_ptr<EventSource>& source);

  // Take no longer waits for company, and ends when nothing is left.
  void Stop();
  // The same, and what is queued is dropped.
  void Abandon();

  size_t bytes() const;

 private:
  struct Item {
    std::shared_ptr<EventSource> source;
    AttemptEvents events;
    size_t bytes = 0;
    absl::Time arrival;
  };
  bool MustPause(const EventSource& source) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayResume(const EventSource& source) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  QueueSnapshot Snapshot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<BatchEntry> TakeNow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable absl::Mutex mu_;
  absl::CondVar changed_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // Of items_.
  size_t held_bytes_ ABSL_GUARDED_BY(mu_) = 0;    // Of items_ and of the batch that was taken.
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::flat_hash_set<std::shared_ptr<EventSource>> paused_ ABSL_GUARDED_BY(mu_);
};

}  // namespace stepcurve
