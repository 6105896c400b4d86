// SPDX-License-Identifier: Apache-2.0
#include "server/search/space.h"

#include <cmath>
#include <map>

#include "gtest/gtest.h"

namespace stepcurve {
namespace {

const RangeEntry kMomentum{.min = 0.9, .max = 0.9999, .scale = Scale::kReverseLog};

TEST(ValueAtTest, LinearAndLogAreUniformInTheirScale) {
  EXPECT_DOUBLE_EQ(ValueAt({.min = -2, .max = 6}, 0.25), 0);
  EXPECT_DOUBLE_EQ(ValueAt({.min = 1e-4, .max = 10, .scale = Scale::kLog}, 0.4), 1e-2);
}

// The published data's formula, whose u runs the other way: 1 - 10^(log10(1 - max) + u (log10(1 - min) - log10(1 -
// max))).
TEST(ValueAtTest, ReverseLogIsUniformInTheLogarithmOfOneMinusTheValue) {
  for (double u : {0.0, 0.1, 0.25, 0.5, 0.75, 0.999}) {
    const double high = std::log10(1 - 0.9999);
    const double low = std::log10(1 - 0.9);
    EXPECT_NEAR(ValueAt(kMomentum, u), 1 - std::pow(10, high + (1 - u) * (low - high)), 1e-12) << u;
  }
  EXPECT_NEAR(ValueAt(kMomentum, 1.0 / 3), 0.99, 1e-12) << "Vizier's scale of the same name gives 0.934";
}

TEST(ValueAtTest, NeverLeavesTheRange) {
  for (const RangeEntry& range :
       {RangeEntry{.min = 0.1, .max = 0.3}, RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog}, kMomentum,
        RangeEntry{.min = 1e-320, .max = 1e308, .scale = Scale::kLog}, RangeEntry{.min = -1.7e308, .max = 1.7e308}}) {
    for (double u : {0.0, 1e-300, 0x1p-53, 0.3, 0.5, 1 - 0x1p-53}) {
      const double value = ValueAt(range, u);
      EXPECT_GE(value, range.min) << u;
      EXPECT_LE(value, range.max) << u;
    }
    EXPECT_NEAR(CoordinateOf(range, ValueAt(range, 0.5)), 0.5, 1e-6);
    EXPECT_EQ(CoordinateOf(range, range.min), 0);
    EXPECT_EQ(CoordinateOf(range, range.max), 1);
  }
}

TEST(ValueAtTest, IntegersIncludeBothEndsAndAreUniformInCells) {
  std::map<double, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[ValueAt({.min = -1, .max = 4, .integer = true}, (i + 0.5) / 6000)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [value, count] : counts) EXPECT_EQ(count, 1000) << value;
}

TEST(ValueAtTest, LogIntegersFavourSmallOnesByTheirCells) {
  const RangeEntry range{.min = 1, .max = 100, .scale = Scale::kLog, .integer = true};
  const int draws = 100'000;
  std::map<double, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[ValueAt(range, (i + 0.5) / draws)];
  EXPECT_EQ(counts.begin()->first, 1);
  EXPECT_EQ(counts.rbegin()->first, 100);
  const double all = std::log(100.5 / 0.5);
  EXPECT_NEAR(counts[1], draws * std::log(1.5 / 0.5) / all, 2);
  EXPECT_NEAR(counts[10], draws * std::log(10.5 / 9.5) / all, 2);
}

TEST(ValueAtTest, NoIntegerIsANegativeZero) {
  for (double u : {0.0, 0.2, 0.4, 0.6, 0.8}) {
    EXPECT_FALSE(std::signbit(std::abs(ValueAt({.min = -1, .max = 1, .integer = true}, u)) == 0
                                  ? ValueAt({.min = -1, .max = 1, .integer = true}, u)
                                  : 0.0));
  }
}

TEST(CoordinateOfTest, InvertsValueAtAndRisesWithTheValue) {
  for (const RangeEntry& range :
       {RangeEntry{.min = 0.1, .max = 0.3}, RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog}, kMomentum}) {
    double previous = -1;
    for (double u = 0; u < 1; u += 0.01) {
      EXPECT_NEAR(CoordinateOf(range, ValueAt(range, u)), u, 1e-9);
      EXPECT_GT(ValueAt(range, u), previous);
      previous = ValueAt(range, u);
    }
  }
  EXPECT_NEAR(CoordinateOf({.min = 1, .max = 4, .integer = true}, 1), 0.125, 1e-12) << "the middle of its cell";
}

TEST(DimensionsTest, CountsWhatIsNotFixed) {
  EXPECT_EQ(Dimensions({{.name = "a", .kind = FixedEntry{1}},
                        {.name = "b", .kind = ValuesEntry{{1, 2}}},
                        {.name = "c", .kind = RangeEntry{}}}),
            2);
}

}  // namespace
}  // namespace stepcurve
