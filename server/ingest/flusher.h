// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/ingest/event_queue.h"
#include "server/store/flush_store.h"

namespace stepcurve {

// Makes a batch durable, as FlushStore::Flush does; called by one thread.
using FlushFn = std::function<absl::StatusOr<FlushStore::Result>(const std::vector<AttemptEvents>&)>;

// What a commit asks of others. Called by flusher threads after the acknowledgements have been given.
struct AfterCommit {
  std::function<void(const std::vector<int64_t>& sweeps)> check_sweeps;
  std::function<void(const std::vector<int64_t>& sessions)> drain_sessions;
  // Trials may have come into the queue: an attempt diverged, or was given back.
  std::function<void()> work_appeared;
};

// One thread that takes batches from a queue, makes them durable, and answers the streams they came from. A batch is
// repeated until the database takes it; where an event is at fault, the batch is halved until the event is alone, and
// its streams are rejected.
class Flusher final {
 public:
  // `queue` is not owned and outlives the flusher.
  Flusher(EventQueue* queue, FlushFn flush, AfterCommit after);
  // Drops what is not yet durable.
  ~Flusher();

  // Flushes what is queued, as long as the database takes it, for at most `patience`; then ends the thread. Push no
  // more.
  void Drain(absl::Duration patience);

 private:
  void Run();
  void FlushOrSplit(absl::Span<BatchEntry> batch);
  // Repeats while the database is at fault; CANCELLED when the flusher is to end.
  absl::StatusOr<FlushStore::Result> FlushUntilTaken(const std::vector<AttemptEvents>& events);
  void Answer(absl::Span<const BatchEntry> batch, const FlushStore::Result& result);
  void Reject(const BatchEntry& entry, const absl::Status& why);
  // False when the flusher is to end.
  bool Pause(absl::Duration delay);

  EventQueue* const queue_;
  const FlushFn flush_;
  const AfterCommit after_;
  absl::Mutex mu_;
  absl::CondVar changed_;
  bool give_up_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace stepcurve
