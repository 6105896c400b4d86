// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/sweep.pb.h"

namespace stepcurve {

// A sweep's state with its studies, as they are now, without time and rates.
absl::StatusOr<v1::Progress> ReadProgress(SweepStore& sweeps, SessionStore& sessions, int64_t sweep);

// Trials that ended over the last minute, from successive snapshots.
class EndingRate final {
 public:
  // Takes a snapshot in and fills its time, trials_per_second and seconds_left.
  void Stamp(absl::Time now, v1::Progress& progress);

 private:
  std::deque<std::pair<absl::Time, int64_t>> ended_;  // Oldest first.
};

bool IsOver(const v1::Progress& progress);

}  // namespace stepcurve
