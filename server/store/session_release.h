// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/retry_caps.h"

#include <pqxx/pqxx>

namespace stepcurve {

// Trials that a session gives up, and why.
struct GivenUp {
  std::vector<int64_t> trials;
  std::vector<int64_t> sessions;  // Only what these run; locked by the caller.
  std::string outcome;            // Of their attempts: "lost", "released".
  bool lost = false;              // Count a loss where the attempt had started, and fail the trial at the cap.
  RetryCaps caps;
};

// Puts trials back into the queue, or ends them FAILED at the cap, within the caller's transaction: locks sweeps with a
// cap, strands and trials in order and looks again at what is still running. Returns the sweeps of which some strand
// has nothing open now.
absl::StatusOr<std::vector<int64_t>> GiveUp(pqxx::work& work, const GivenUp& given_up);

}  // namespace stepcurve
