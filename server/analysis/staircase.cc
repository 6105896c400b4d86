// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/staircase.h"

#include <cmath>

namespace stepcurve {

void Staircase::Add(int64_t step, double value, bool rising) {
  if (!std::isfinite(value)) return;
  if (!values.empty() && (rising ? value <= values.back() : value >= values.back())) return;
  steps.push_back(step);
  values.push_back(value);
}

}  // namespace stepcurve
