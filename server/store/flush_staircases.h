// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "server/analysis/staircase.h"
#include "server/core/events.h"
#include "server/core/flush_decision.h"

namespace stepcurve {

// Staircases of the attempts that a flusher has stored from their first point on, so that the flush that ends a trial
// need not read its chunks. A cache: what is not here, or not up to the step that the database names, is read there.
// One thread.
class FlushStaircases final {
 public:
  // Those of what is stored of a trial, as `before` has it; nullptr when they are not known. Not owned; until the next
  // Store.
  const TrialStaircases* Find(const TrialSnapshot& before) const;

  // Takes in what a committed flush has done.
  void Store(const TrialMove& move, const AttemptEvents& events, int metrics);

  size_t trials() const { return running_.size(); }

 private:
  struct Running {
    int64_t attempt = 0;
    int64_t last_step = -1;
    TrialStaircases staircases;
    size_t entries = 0;
  };
  void Forget(int64_t trial);

  absl::flat_hash_map<int64_t, Running> running_;  // By trial.
  size_t entries_ = 0;                             // Of all staircases.
};

}  // namespace stepcurve
