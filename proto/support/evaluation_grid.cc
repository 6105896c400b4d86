// SPDX-License-Identifier: Apache-2.0
#include "proto/support/evaluation_grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "proto/support/goal.h"

namespace stepcurve {
namespace {

constexpr int64_t kMillion = 1'000'000;

// ceil(step x ratio), at least step + 1; the largest int64 where it would not fit.
int64_t NextGeometric(int64_t step, int64_t ratio_millionths) {
  const __int128 product = static_cast<__int128>(step) * ratio_millionths;
  const __int128 next = std::max<__int128>((product + kMillion - 1) / kMillion, static_cast<__int128>(step) + 1);
  return static_cast<int64_t>(std::min<__int128>(next, INT64_MAX));
}

// First grid step after `step`, budget or not.
int64_t NextOnGrid(const EvaluationGrid& grid, int64_t step) {
  switch (grid.kind) {
    case EvaluationGrid::Kind::kGeometric: {
      int64_t at = grid.first;
      while (at <= step) {
        at = NextGeometric(at, grid.ratio_millionths);
      }
      return at;
    }
    case EvaluationGrid::Kind::kEvery:
      return step > INT64_MAX - grid.every ? INT64_MAX : (step / grid.every + 1) * grid.every;
    case EvaluationGrid::Kind::kAt: {
      const auto next = std::upper_bound(grid.at.begin(), grid.at.end(), step);
      return next == grid.at.end() ? INT64_MAX : *next;
    }
  }
  return INT64_MAX;
}

}  // namespace

std::optional<int64_t> NextEvaluation(const EvaluationGrid& grid, int64_t budget, int64_t step) {
  if (step >= budget) return std::nullopt;
  if (step < 0) return 0;
  return std::min(budget, NextOnGrid(grid, step));
}

std::vector<int64_t> AllEvaluations(const EvaluationGrid& grid, int64_t budget) {
  std::vector<int64_t> steps = {0};
  if (grid.kind == EvaluationGrid::Kind::kGeometric) {
    // Walked rather than asked for one by one, which would start from `first` each time.
    for (int64_t at = grid.first; at < budget; at = NextGeometric(at, grid.ratio_millionths)) {
      steps.push_back(at);
    }
    steps.push_back(budget);
    return steps;
  }
  for (auto next = NextEvaluation(grid, budget, 0); next.has_value(); next = NextEvaluation(grid, budget, *next)) {
    steps.push_back(*next);
  }
  return steps;
}

int64_t CountEvaluations(const EvaluationGrid& grid, int64_t budget) {
  int64_t between = 0;  // Neither step 0 nor the budget.
  switch (grid.kind) {
    case EvaluationGrid::Kind::kGeometric:
      for (int64_t at = grid.first; at < budget; at = NextGeometric(at, grid.ratio_millionths)) ++between;
      break;
    case EvaluationGrid::Kind::kEvery:
      between = (budget - 1) / grid.every;
      break;
    case EvaluationGrid::Kind::kAt:
      between = std::lower_bound(grid.at.begin(), grid.at.end(), budget) -
                std::upper_bound(grid.at.begin(), grid.at.end(), 0);
      break;
  }
  return between > INT64_MAX - 2 ? INT64_MAX : between + 2;
}

std::string DescribeGrid(const EvaluationGrid& grid) {
  switch (grid.kind) {
    case EvaluationGrid::Kind::kGeometric:
      return absl::StrCat("geometric ", FormatDouble(static_cast<double>(grid.ratio_millionths) / kMillion));
    case EvaluationGrid::Kind::kEvery:
      return absl::StrCat("every ", grid.every);
    case EvaluationGrid::Kind::kAt:
      return absl::StrCat("at ", grid.at.size(), " steps");
  }
  return "";
}

}  // namespace stepcurve
