// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

// What waits to be written to one stream, in messages of bounded size. Everything goes out in the order it came in,
// save that the parts of one message are applied in the order of its fields. Not thread-safe.
class Outbox final {
 public:
  struct Options {
    size_t message_bytes = 256 << 10;  // A message that has reached this takes no more.
    size_t total_bytes = 8 << 20;      // Of a worker that does not read: it is cut.
  };
  explicit Outbox(const Options& options) : options_(options) {}

  void Add(v1::StudyDefinition study);
  void Add(v1::Assignment assignment);
  void Add(v1::Standing standing);
  // A message of its own, for what is not a part of a batch.
  void Add(v1::ServerMessage message);

  // Nothing where nothing waits.
  std::optional<v1::ServerMessage> Take();

  bool empty() const { return messages_.empty(); }
  bool over_limit() const { return bytes_ > options_.total_bytes; }

 private:
  struct Entry {
    v1::ServerMessage message;
    size_t bytes = 0;
    bool full = false;
  };
  // A message that takes `bytes` more.
  v1::ServerMessage& Room(size_t bytes);

  Options options_;
  std::deque<Entry> messages_;
  size_t bytes_ = 0;
};

}  // namespace stepcurve
