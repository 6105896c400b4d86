// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_records.h"

namespace stepcurve {

RecordArrays Flatten(const TrialStaircases& staircases) {
  RecordArrays arrays;
  arrays.offsets.push_back(0);
  const auto append = [&arrays](const Staircase& staircase) {
    arrays.steps.insert(arrays.steps.end(), staircase.steps.begin(), staircase.steps.end());
    arrays.values.insert(arrays.values.end(), staircase.values.begin(), staircase.values.end());
    arrays.offsets.push_back(static_cast<int32_t>(arrays.steps.size()));
  };
  for (int metric = 0; metric < staircases.metrics(); ++metric) {
    append(staircases.falling(metric));
    append(staircases.rising(metric));
  }
  return arrays;
}

void AddPoints(absl::Span<const int64_t> steps, absl::Span<const double> values, size_t first,
               TrialStaircases& staircases) {
  for (int metric = 0; metric < staircases.metrics(); ++metric) {
    const absl::Span<const double> of_metric = values.subspan(static_cast<size_t>(metric) * steps.size(), steps.size());
    for (size_t point = first; point < steps.size(); ++point) {
      staircases.Add(steps[point], metric, of_metric[point]);
    }
  }
}

}  // namespace stepcurve
