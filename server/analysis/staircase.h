// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/support/goal.h"

namespace stepcurve {

// The running best of one metric in one direction: steps ascend, values strictly improve. The first entry past a goal
// is the first measurement past it, so a staircase answers every goal by bisection.
struct Staircase {
  std::vector<int64_t> steps;
  std::vector<double> values;

  // Appends (step, value) if it improves; non-finite values never do. Steps arrive in ascending order.
  void Add(int64_t step, double value, bool rising);
};

// The first step past the goal; the staircase is one of the goal's metric and direction.
std::optional<int64_t> FirstPast(const Staircase& stairs, const Goal& goal);

// All staircases of one trial: for each metric a falling and a rising one.
class TrialStaircases final {
 public:
  explicit TrialStaircases(int metrics) : falling_(metrics), rising_(metrics) {}
  void Add(int64_t step, int metric, double value) {
    falling_[metric].Add(step, value, false);
    rising_[metric].Add(step, value, true);
  }
  const Staircase& falling(int metric) const { return falling_[metric]; }
  const Staircase& rising(int metric) const { return rising_[metric]; }
  int metrics() const { return static_cast<int>(falling_.size()); }

 private:
  std::vector<Staircase> falling_;
  std::vector<Staircase> rising_;
};

}  // namespace stepcurve
