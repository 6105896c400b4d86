// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepcurve {

// Steps at which a trial is evaluated: step 0, the grid's steps below the budget, and the budget.
struct EvaluationGrid {
  enum class Kind { kGeometric, kEvery, kAt };
  Kind kind = Kind::kGeometric;
  int64_t ratio_millionths = 1'050'000;  // kGeometric: 1,000,001 to 2,000,000.
  int64_t first = 1;                     // kGeometric: first step after 0.
  int64_t every = 0;                     // kEvery: at least 1.
  std::vector<int64_t> at;               // kAt: strictly ascending.

  friend bool operator==(const EvaluationGrid&, const EvaluationGrid&) = default;
};

// The first evaluation after `step` (at least -1) of a trial with `budget` steps; none at or past the budget.
// Geometric: max(e + 1, ceil(e x ratio)) from `first`, a 128-bit product, so the grid is exact. Works for any `step`,
// on the grid or not.
std::optional<int64_t> NextEvaluation(const EvaluationGrid& grid, int64_t budget, int64_t step);

// All evaluations, ascending, step 0 and the budget included.
std::vector<int64_t> AllEvaluations(const EvaluationGrid& grid, int64_t budget);

// Their number, without making them; the largest int64 where it would not fit.
int64_t CountEvaluations(const EvaluationGrid& grid, int64_t budget);

// "geometric 1.05", "every 50", "at 7 steps".
std::string DescribeGrid(const EvaluationGrid& grid);

}  // namespace stepcurve
