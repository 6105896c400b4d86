// SPDX-License-Identifier: Apache-2.0
//
// A trial's running bests between its measurements and its row of `records`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "server/analysis/staircase.h"

namespace stepcurve {

// Columns of a row of `records`: staircase k (metric 1 falling, metric 1 rising, metric 2 falling, ...) owns the
// entries offsets[k] to offsets[k + 1] - 1, counted from 0.
struct RecordArrays {
  std::vector<int32_t> offsets;
  std::vector<int64_t> steps;
  std::vector<double> values;
};
RecordArrays Flatten(const TrialStaircases& staircases);

// Adds the points from index `first` on. `values`: metric by metric, steps.size() each.
void AddPoints(absl::Span<const int64_t> steps, absl::Span<const double> values, size_t first,
               TrialStaircases& staircases);

// The measurements that count of trials $1, whose current attempts are $2 (0: that one never started, and what the
// newest started one before it stored counts): trial_id, steps, values, in order of trial and step. Attempts start from
// scratch, so one attempt's chunks are all.
inline constexpr char kLiveChunks[] = R"sql(
SELECT c.trial_id, c.steps, c."values"
  FROM unnest($1::bigint[], $2::bigint[]) u(id, attempt)
 CROSS JOIN LATERAL (
       SELECT k.trial_id, k.first_step, k.steps, k."values"
         FROM chunks k
        WHERE k.trial_id = u.id
          AND k.attempt = CASE WHEN u.attempt > 0 THEN u.attempt
                               ELSE (SELECT max(p.attempt) FROM past_attempts p
                                      WHERE p.trial_id = u.id AND p.base_step IS NOT NULL) END) c
 ORDER BY c.trial_id, c.first_step)sql";

}  // namespace stepcurve
