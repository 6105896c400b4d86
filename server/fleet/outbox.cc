// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/outbox.h"

#include <utility>

namespace stepcurve {
namespace {

// Of a part within a message: its own bytes, a tag and a length.
template <typename Part>
size_t BytesOf(const Part& part) {
  return part.ByteSizeLong() + 6;
}

}  // namespace

v1::ServerMessage& Outbox::Room(size_t bytes) {
  if (messages_.empty() || messages_.back().full || messages_.back().bytes + bytes > options_.message_bytes) {
    messages_.emplace_back();
  }
  messages_.back().bytes += bytes;
  bytes_ += bytes;
  return messages_.back().message;
}

void Outbox::Add(v1::StudyDefinition study) { *Room(BytesOf(study)).add_studies() = std::move(study); }

void Outbox::Add(v1::Assignment assignment) { *Room(BytesOf(assignment)).add_assignments() = std::move(assignment); }

void Outbox::Add(v1::Standing standing) { *Room(BytesOf(standing)).add_standings() = std::move(standing); }

void Outbox::Add(v1::ServerMessage message) {
  const size_t bytes = BytesOf(message);
  messages_.push_back({std::move(message), bytes, true});
  bytes_ += bytes;
}

std::optional<v1::ServerMessage> Outbox::Take() {
  if (messages_.empty()) {
    return std::nullopt;
  }
  v1::ServerMessage message = std::move(messages_.front().message);
  bytes_ -= messages_.front().bytes;
  messages_.pop_front();
  return message;
}

}  // namespace stepcurve
