// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "server/core/events.h"

namespace stepcurve {

// One worker stream as ingest sees it. The calls come from flusher threads, never while ingest holds a lock, and must
// not block.
class EventListener {
 public:
  virtual ~EventListener() = default;

  // Where attempts stand whose events are durable, or moot.
  virtual void Answer(const std::vector<Standing>& standings) = 0;

  // An event of this stream cannot be stored. Nothing that it has queued, or pushes from now on, will be.
  virtual void Reject(const absl::Status& why) = 0;

  // Push asked for a pause; it is over.
  virtual void Resume() = 0;
};

}  // namespace stepcurve
