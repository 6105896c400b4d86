// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/staircase.h"

#include <algorithm>
#include <cmath>

namespace stepcurve {

void Staircase::Add(int64_t step, double value, bool rising) {
  if (!std::isfinite(value)) return;
  if (!values.empty() && (rising ? value <= values.back() : value >= values.back())) return;
  steps.push_back(step);
  values.push_back(value);
}

std::optional<int64_t> FirstPast(const Staircase& stairs, const Goal& goal) {
  const auto past =
      std::partition_point(stairs.values.begin(), stairs.values.end(), [&](double v) { return !goal.IsPast(v); });
  if (past == stairs.values.end()) return std::nullopt;
  return stairs.steps[past - stairs.values.begin()];
}

}  // namespace stepcurve
