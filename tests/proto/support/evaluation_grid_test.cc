// SPDX-License-Identifier: Apache-2.0
#include "proto/support/evaluation_grid.h"

#include "gmock/gmock.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using Kind = EvaluationGrid::Kind;

EvaluationGrid Geometric(int64_t ratio_millionths, int64_t first) {
  return {.kind = Kind::kGeometric, .ratio_millionths = ratio_millionths, .first = first};
}
EvaluationGrid Every(int64_t every) { return {.kind = Kind::kEvery, .every = every}; }
EvaluationGrid At(std::vector<int64_t> at) { return {.kind = Kind::kAt, .at = std::move(at)}; }

TEST(EvaluationGridTest, HoldsStepZeroAndTheBudgetWhateverTheGrid) {
  EXPECT_THAT(AllEvaluations(Geometric(2'000'000, 1), 20), ElementsAre(0, 1, 2, 4, 8, 16, 20));
  EXPECT_THAT(AllEvaluations(Geometric(2'000'000, 1), 16), ElementsAre(0, 1, 2, 4, 8, 16));
  EXPECT_THAT(AllEvaluations(Geometric(1'500'000, 3), 30), ElementsAre(0, 3, 5, 8, 12, 18, 27, 30));
  EXPECT_THAT(AllEvaluations(Geometric(1'050'000, 100), 50), ElementsAre(0, 50)) << "first beyond the budget";
  EXPECT_THAT(AllEvaluations(Every(50), 100), ElementsAre(0, 50, 100));
  EXPECT_THAT(AllEvaluations(Every(50), 101), ElementsAre(0, 50, 100, 101));
  EXPECT_THAT(AllEvaluations(Every(500), 100), ElementsAre(0, 100));
  EXPECT_THAT(AllEvaluations(At({0, 3, 100, 200}), 100), ElementsAre(0, 3, 100));
  EXPECT_THAT(AllEvaluations(Every(1), 1), ElementsAre(0, 1));
}

TEST(EvaluationGridTest, StartsBySingleStepsWhereTheRatioIsBelowOne) {
  EXPECT_THAT(AllEvaluations(Geometric(1'300'000, 1), 12), ElementsAre(0, 1, 2, 3, 4, 6, 8, 11, 12));
}

// In doubles 1.1 x 10 is above 11 and would round up to 12.
TEST(EvaluationGridTest, MultipliesDecimalRatiosExactly) {
  EXPECT_EQ(NextEvaluation(Geometric(1'100'000, 10), 1'000, 10), 11);
  EXPECT_EQ(NextEvaluation(Geometric(1'100'000, 100), 1'000, 100), 110);
}

TEST(EvaluationGridTest, NextAgreesWithAllFromAnyStep) {
  for (const EvaluationGrid& grid : {Geometric(1'050'000, 1), Geometric(1'050'000, 7), Geometric(1'000'001, 1),
                                     Every(1), Every(7), At({5, 6, 90}), At({0, 5, 300, 400})}) {
    const std::vector<int64_t> all = AllEvaluations(grid, 300);
    EXPECT_EQ(CountEvaluations(grid, 300), static_cast<int64_t>(all.size())) << DescribeGrid(grid);
    size_t next = 0;
    for (int64_t step = -1; step <= 300; ++step) {
      while (next < all.size() && all[next] <= step) ++next;
      const auto found = NextEvaluation(grid, 300, step);
      if (next == all.size()) {
        EXPECT_EQ(found, std::nullopt) << step;
      } else {
        EXPECT_EQ(found, all[next]) << DescribeGrid(grid) << " after " << step;
      }
    }
  }
}

TEST(EvaluationGridTest, NeverOverflows) {
  const int64_t budget = INT64_MAX;
  EXPECT_EQ(NextEvaluation(Geometric(2'000'000, 1), budget, int64_t{1} << 62), budget);
  EXPECT_EQ(AllEvaluations(Geometric(2'000'000, 1), budget).size(), 65u);
  EXPECT_EQ(NextEvaluation(Every(int64_t{1} << 62), budget, (int64_t{1} << 62) + 1), budget);
  EXPECT_EQ(CountEvaluations(Every(1), budget - 1), budget);
  EXPECT_EQ(CountEvaluations(Every(1), budget), budget);
}

TEST(EvaluationGridTest, EightyToOneHundredThirtyEvaluationsByDefault) {
  // First step ceil(budget / 500), as a sweep's default.
  for (int64_t budget : {600, 10'000, 110'000, 10'000'000}) {
    const int64_t count = CountEvaluations(Geometric(1'050'000, (budget + 499) / 500), budget);
    EXPECT_GE(count, 80) << budget;
    EXPECT_LE(count, 135) << budget;
  }
}

}  // namespace
}  // namespace stepcurve
