// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/core/events.h"
#include "server/core/study_definition.h"
#include "server/store/claim_store.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

// The most that one message of a worker may hold; Welcome tells.
inline constexpr int64_t kMostWorkerMessageBytes = 256 << 10;
inline constexpr int kMostPointsPerReport = 1024;
inline constexpr size_t kMostLogTailBytes = 16 << 10;

// The attempts that one stream may speak of, and what may be said of each: events are checked here as they arrive, so
// that what reaches the database can be stored. Not thread-safe.
class AttemptTable final {
 public:
  explicit AttemptTable(int64_t session) : session_(session) {}

  // A trial of this session; a grant that is known already changes nothing. False then.
  bool Hold(const Grant& grant, const StudyDefinition& study);

  // The database's, or this server's, word on an attempt. One that is over stays known for a while, so that what its
  // worker had sent by then gets the same answer.
  void Settle(const Standing& standing);

  // What a message says of attempts, for ingest, and the answers to what is said of attempts that are over.
  // INVALID_ARGUMENT names what cannot be; nothing of the message is taken then.
  struct Incoming {
    std::vector<AttemptEvents> events;
    std::vector<Standing> answers;
  };
  absl::StatusOr<Incoming> Read(const v1::WorkerMessage& message) const;

  // Running attempts of a sweep as standings of state `state`; with their last persisted steps.
  std::vector<Standing> EndedBySweep(int64_t sweep, TrialState state, const std::string& reason) const;
  // Sweeps that have running attempts here; ascending.
  std::vector<int64_t> Sweeps() const;

  int64_t held() const { return held_; }

 private:
  using Key = std::pair<int64_t, int64_t>;  // Trial, attempt.
  struct Known {
    int64_t sweep = 0;
    int64_t metrics = 0;
    int64_t budget_steps = 0;
    int64_t persisted_step = -1;
    std::optional<Standing> over;
  };
  absl::StatusOr<const Known*> Find(int64_t trial, int64_t attempt) const;
  absl::Status CheckReport(const v1::Report& report, const Known& known) const;
  absl::Status CheckEnd(const v1::End& end, const Known& known) const;

  int64_t session_;
  absl::flat_hash_map<Key, Known> attempts_;
  std::deque<Key> over_;  // Oldest first.
  int64_t held_ = 0;      // Not over.
};

}  // namespace stepcurve
