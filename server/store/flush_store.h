// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/core/events.h"
#include "server/core/retry_caps.h"
#include "server/store/database.h"

namespace stepcurve {

// Makes events durable: one transaction a batch, libpq from BEGIN to COMMIT, over a connection of its own. One thread.
//
//   1. read where the trials stand, without a lock
//   2. decide in memory (core/flush_decision): drop what is stale, trim what is stored, endings
//   3. COPY chunks
//   4. lock, in id order: sessions that fail, sweeps that may be added to or are capped, strands of attempts that end
//   5. the one UPDATE of trials, which tests that each still stands as it was read; where one does not, all of this is
//      rolled back and starts over
//   6. COPY records and ended attempts; counts, top-ups; commit
//
// So points are written outside the locks that flushes of the same strands share.
class FlushStore final {
 public:
  struct Options {
    Database::Options database;
    RetryCaps caps;
  };
  static absl::StatusOr<std::unique_ptr<FlushStore>> Open(const Options& options);
  ~FlushStore();

  struct Result {
    std::vector<Standing> standings;        // One per AttemptEvents, in order.
    std::vector<int64_t> sweeps_to_check;   // For SweepStore::EndFinished: some strand of theirs has nothing open.
    std::vector<int64_t> drained_sessions;  // Five failures before the first step in a row: to be given no more.
  };
  // At most one AttemptEvents per (trial, attempt). Safe to repeat after any failure, UNKNOWN included, since step 1
  // reads what is stored. A failure of class 22 or 23 is INVALID_ARGUMENT or FAILED_PRECONDITION: some event of the
  // batch is at fault, and halving the batch finds it. Reconnects by itself.
  absl::StatusOr<Result> Flush(const std::vector<AttemptEvents>& batch);

 private:
  class Impl;
  explicit FlushStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stepcurve
