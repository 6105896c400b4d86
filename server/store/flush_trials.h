// SPDX-License-Identifier: Apache-2.0
//
// What a flush reads and writes of trials, over its own connection and within its transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/core/flush_decision.h"
#include "server/store/flush_records.h"
#include "server/store/pg_connection.h"

namespace stepcurve {

using TrialSnapshots = absl::flat_hash_map<int64_t, TrialSnapshot>;

// Where the trials of a batch stand. Not locked.
absl::StatusOr<TrialSnapshots> ReadTrials(PgConnection& connection, absl::Span<const AttemptEvents> batch);

// Stores the new points, cut into chunks that fit a page where they can, and 1,024 points at most.
absl::Status CopyChunks(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                        const std::vector<TrialMove>& moves);

// The one write to trials, and the test that they still stand as the decision took them to: ABORTED when one does not.
absl::Status MoveTrials(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                        const std::vector<TrialMove>& moves);

// Of the attempts that end: their rows of past_attempts, and of `requeued` where the trial comes back.
absl::Status EndAttempts(PgConnection& connection, absl::Span<const AttemptEvents> batch,
                         const std::vector<TrialMove>& moves);

// `records[i]` belongs to the i-th move that ends its trial.
absl::Status CopyRecords(PgConnection& connection, const std::vector<TrialMove>& moves,
                         const std::vector<RecordArrays>& records);

}  // namespace stepcurve
