// SPDX-License-Identifier: Apache-2.0
//
// What workers report, as the ingest path carries it: already checked for form, not yet against the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/state.h"

namespace stepcurve {

// How an attempt ended.
struct Complete {};
struct Diverged {
  int64_t step = 0;
  std::string reason;
};
struct AtBound {
  int32_t goal = 0;
  int64_t step = 0;
  int64_t witness = 0;
};
struct Failure {
  bool by_worker = false;  // Requeued, not counted.
  bool before_first_step = false;
  std::string message;
};
struct Released {
  std::string why;
};
struct Ending {
  int64_t last_step = -1;  // Last evaluated step.
  std::variant<Complete, Diverged, AtBound, Failure, Released> outcome;
  std::string log_tail;
};

// All that one flush knows of one attempt: any part may be absent. Points are ascending by step, values metric by
// metric (metric m of point p at values[m * steps.size() + p]).
struct AttemptEvents {
  int64_t trial = 0;
  int64_t attempt = 0;
  int64_t session = 0;               // Database id of the session whose stream brought it.
  std::optional<int64_t> base_step;  // From Start.
  std::vector<int64_t> steps;
  std::vector<double> values;
  double train_seconds = 0;
  double eval_seconds = 0;
  std::optional<Ending> ending;
};

enum class Verdict { kHeld, kEnded, kLost };

// The answer to a write of (trial, attempt). kEnded and kLost free the worker's copy; acks are about the database, so
// any server may give them, and they never go down.
struct Standing {
  int64_t trial = 0;
  int64_t attempt = 0;
  int64_t persisted_step = -1;
  Verdict verdict = Verdict::kLost;
  TrialState state = TrialState::kQueued;
  std::string reason;
};

}  // namespace stepcurve
