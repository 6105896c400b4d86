// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "server/core/events.h"
#include "server/ingest/event_listener.h"
#include "server/ingest/event_queue.h"
#include "server/ingest/flusher.h"

namespace stepcurve {

// The way of every stream's events into the database: a fixed number of flushers, each with a queue and a connection of
// its own and a fixed share of the sessions, so that what one session sends stays in order. Thread-safe.
class Ingest final {
 public:
  struct Options {
    std::vector<FlushFn> flushers;  // One thread each; at least one.
    AfterCommit after;
    EventQueue::Options queue;  // Of each.
  };
  explicit Ingest(const Options& options);
  ~Ingest();

  // One stream's way in. Dropping it leaves what is queued to be flushed.
  class Inlet final {
   public:
    // Queues events. False: read no more until the listener's Resume.
    bool Push(std::vector<AttemptEvents> events) { return queue_->Push(source_, std::move(events)); }

   private:
    friend class Ingest;
    Inlet(EventQueue* queue, std::shared_ptr<EventSource> source) : queue_(queue), source_(std::move(source)) {}
    EventQueue* queue_;
    std::shared_ptr<EventSource> source_;
  };
  Inlet Open(int64_t session, std::weak_ptr<EventListener> listener);

  // Flushes what is queued for at most `patience`, then drops the rest and ends the threads. Push no more.
  void Drain(absl::Duration patience);

  size_t bytes() const;  // Held by all queues.

 private:
  struct Lane {
    std::unique_ptr<EventQueue> queue;
    std::unique_ptr<Flusher> flusher;
  };
  std::vector<Lane> lanes_;
};

}  // namespace stepcurve
