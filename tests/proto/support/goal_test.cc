// SPDX-License-Identifier: Apache-2.0
#include "proto/support/goal.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"
#include "proto/support/hash.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using Comparison = Goal::Comparison;

struct Accepted {
  const char* text;
  Goal goal;
  const char* canonical;
};

TEST(ParseGoalTest, ReadsEveryForm) {
  const Accepted rows[] = {
      {"val/classification_error < 0.1",
       {"val/classification_error", Comparison::kLess, 0.1},
       "val/classification_error < 0.1"},
      {"  test/loss<=1e-3 ", {"test/loss", Comparison::kLessOrEqual, 1e-3}, "test/loss <= 0.001"},
      {"train/a_1 >.5", {"train/a_1", Comparison::kGreater, 0.5}, "train/a_1 > 0.5"},
      {"val/average_precision\t>=\t0.31",
       {"val/average_precision", Comparison::kGreaterOrEqual, 0.31},
       "val/average_precision >= 0.31"},
      {"val/loss < -2.5", {"val/loss", Comparison::kLess, -2.5}, "val/loss < -2.5"},
  };
  for (const Accepted& row : rows) {
    const auto goal = ParseGoal(row.text);
    ASSERT_THAT(goal, IsOk());
    EXPECT_EQ(*goal, row.goal) << row.text;
    EXPECT_EQ(FormatGoal(*goal), row.canonical);
    EXPECT_EQ(*ParseGoal(FormatGoal(*goal)), *goal);
  }
}

TEST(ParseGoalTest, SaysWhichPartIsWrong) {
  struct Refused {
    const char* text;
    const char* part;
  };
  const Refused rows[] = {
      {"", "has no <"},
      {"val/loss = 0.1", "has no <, <=, > or >="},
      {"loss < 0.1", "\"loss\" is no metric"},
      {"dev/loss < 0.1", "\"dev/loss\" is no metric"},
      {"val/ < 0.1", "is no metric"},
      {"val/Loss < 0.1", "is no metric"},
      {"val/1loss < 0.1", "is no metric"},
      {"val/loss <", "\"\" is no finite number"},
      {"val/loss < abc", "\"abc\" is no finite number"},
      {"val/loss < nan", "is no finite number"},
      {"val/loss < inf", "is no finite number"},
      {"val/loss < 1e999", "is no finite number"},
      {"val/loss < 0x10", "is no finite number"},
      {"val/loss < 0.1 0.2", "is no finite number"},
      {"val/loss << 0.1", "is no finite number"},
      {"val/loss =< 0.1", "is no metric"},
  };
  for (const Refused& row : rows) {
    EXPECT_THAT(ParseGoal(row.text), Fails(absl::StatusCode::kInvalidArgument, row.part)) << row.text;
  }
}

TEST(GoalTest, EqualityCountsOnlyWhereTheComparisonIncludesIt) {
  const double half_of_ten_percent = 500.0 / 5000.0;
  EXPECT_FALSE((Goal{"val/x", Comparison::kLess, 0.1}.IsPast(half_of_ten_percent)));
  EXPECT_TRUE((Goal{"val/x", Comparison::kLessOrEqual, 0.1}.IsPast(half_of_ten_percent)));
  EXPECT_FALSE((Goal{"val/x", Comparison::kGreater, 0.1}.IsPast(0.1)));
  EXPECT_TRUE((Goal{"val/x", Comparison::kGreaterOrEqual, 0.1}.IsPast(0.1)));
  EXPECT_TRUE((Goal{"val/x", Comparison::kLess, 0.1}.IsPast(std::nextafter(0.1, 0))));
}

TEST(GoalTest, NanIsNeverPast) {
  for (Comparison comparison :
       {Comparison::kLess, Comparison::kLessOrEqual, Comparison::kGreater, Comparison::kGreaterOrEqual}) {
    EXPECT_FALSE((Goal{"val/x", comparison, 0.1}.IsPast(std::nan(""))));
  }
}

TEST(FormatDoubleTest, ReadsBackBitForBit) {
  SplitMix64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t bits = random.Next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(std::strtod(FormatDouble(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(1e-4), "1e-04");
  EXPECT_EQ(FormatDouble(-0.0), "-0");
  EXPECT_EQ(FormatDouble(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(FormatDouble(std::nan("")), "NaN");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-Infinity");
}

}  // namespace
}  // namespace stepcurve
