// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/flush_timing.h"

#include <algorithm>

namespace stepcurve {

absl::Duration UntilFlush(const QueueSnapshot& queue, const FlushLimits& limits, absl::Time now) {
  if (queue.events == 0) {
    return absl::InfiniteDuration();
  }
  if (queue.stopping || queue.events >= limits.batch_events || queue.bytes >= limits.batch_bytes) {
    return absl::ZeroDuration();
  }
  // A clock that is set back must not hold events up.
  return std::clamp(queue.oldest + limits.linger - now, absl::ZeroDuration(), limits.linger);
}

absl::Duration RetryDelay(int failures) {
  constexpr absl::Duration kFirst = absl::Milliseconds(50);
  constexpr absl::Duration kLongest = absl::Seconds(1);
  return failures > 5 ? kLongest : std::min(kLongest, kFirst * (1 << failures));
}

FlushFailure Classify(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnknown:  // Perhaps committed: the flush reads what is stored, so repeating is safe.
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return FlushFailure::kRetry;
    default:
      return FlushFailure::kSplit;
  }
}

}  // namespace stepcurve
