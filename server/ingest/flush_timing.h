// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stepcurve {

// When a flusher takes what is queued.
struct FlushLimits {
  // How long the first event of a batch waits for company. Without it thousands of sparse streams cost a transaction
  // each; acks come later by this much at most.
  absl::Duration linger = absl::Milliseconds(4);
  // A batch of this size does not wait, and no batch grows beyond it by more than one event.
  size_t batch_events = 2000;
  size_t batch_bytes = 4 << 20;
};

struct QueueSnapshot {
  size_t events = 0;
  size_t bytes = 0;
  absl::Time oldest;      // Arrival of the event at the front.
  bool stopping = false;  // Nobody is coming any more.
};

// How long to wait before taking the queue's front: zero for now, infinite while there is nothing.
absl::Duration UntilFlush(const QueueSnapshot& queue, const FlushLimits& limits, absl::Time now);

// How long to wait before attempt `failures` + 1 of a flush that the database could not take, without jitter.
absl::Duration RetryDelay(int failures);

// What a failed flush asks for. A failure of the database is waited out, since nothing may be lost; any other is some
// event's.
enum class FlushFailure { kRetry, kSplit };
FlushFailure Classify(absl::StatusCode code);

}  // namespace stepcurve
