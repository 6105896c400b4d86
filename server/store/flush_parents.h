// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/flush_decision.h"
#include "server/store/flush_studies.h"
#include "server/store/pg_connection.h"

namespace stepcurve {

// Sweeps and strands of the trials whose attempts a flush ends: locked, in order, before those trials are written; then
// moved.
class FlushParents final {
 public:
  // Moves that end no attempt have no parents to lock.
  FlushParents(PgConnection* connection, const FlushStudies* studies, const std::vector<TrialMove>& moves);

  absl::Status Lock();

  // Counts, top-ups, sweeps' running, studies' results_version. Returns the sweeps of which some strand has nothing
  // open now.
  absl::StatusOr<std::vector<int64_t>> Move();

 private:
  struct Strand {
    int64_t study = 0;
    StateCounts left;
    StrandSnapshot before;
    StrandMove move;
  };
  absl::Status LockSweeps();
  absl::Status LockStrands();
  absl::Status TopUp();
  absl::Status MoveStrands();
  absl::Status MoveSweepsAndStudies();

  PgConnection* connection_;     // Not owned.
  const FlushStudies* studies_;  // Not owned.
  std::map<int64_t, Strand> strands_;
  std::map<int64_t, int64_t> left_;   // Trials that stop running, by sweep.
  std::map<int64_t, int64_t> ended_;  // Trials that end, by study.
  std::set<int64_t> may_grow_;        // Sweeps to which trials may be added.
};

}  // namespace stepcurve
