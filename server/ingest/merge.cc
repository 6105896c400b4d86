// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/merge.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stepcurve {
namespace {

// Appends points [from, end) of `later`.
void AppendPoints(AttemptEvents& earlier, const AttemptEvents& later, size_t from) {
  const size_t old_points = earlier.steps.size();
  const size_t new_points = later.steps.size();
  const size_t metrics = later.values.size() / new_points;
  std::vector<double> values;
  values.reserve(earlier.values.size() + metrics * (new_points - from));
  for (size_t metric = 0; metric < metrics; ++metric) {
    const auto old_begin = earlier.values.begin() + metric * old_points;
    values.insert(values.end(), old_begin, old_begin + old_points);
    const auto new_begin = later.values.begin() + metric * new_points;
    values.insert(values.end(), new_begin + from, new_begin + new_points);
  }
  earlier.values = std::move(values);
  earlier.steps.insert(earlier.steps.end(), later.steps.begin() + from, later.steps.end());
}

}  // namespace

bool MergeInto(AttemptEvents& earlier, AttemptEvents&& later) {
  if (!earlier.steps.empty() && !later.steps.empty() &&
      earlier.values.size() / earlier.steps.size() != later.values.size() / later.steps.size()) {
    return false;
  }
  if (!earlier.base_step.has_value()) {
    earlier.base_step = later.base_step;
  }
  if (earlier.ending.has_value()) {
    return true;
  }
  if (earlier.steps.empty()) {
    earlier.steps = std::move(later.steps);
    earlier.values = std::move(later.values);
  } else if (!later.steps.empty() && later.steps.back() > earlier.steps.back()) {
    const auto first_new = std::upper_bound(later.steps.begin(), later.steps.end(), earlier.steps.back());
    AppendPoints(earlier, later, first_new - later.steps.begin());
  }
  earlier.train_seconds = std::max(earlier.train_seconds, later.train_seconds);
  earlier.eval_seconds = std::max(earlier.eval_seconds, later.eval_seconds);
  earlier.ending = std::move(later.ending);
  return true;
}

size_t BytesOf(const AttemptEvents& events) {
  return sizeof(AttemptEvents) + events.steps.size() * sizeof(int64_t) + events.values.size() * sizeof(double) +
         (events.ending.has_value() ? events.ending->log_tail.size() : 0);
}

}  // namespace stepcurve
