// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/staircase.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Case {
  std::string name;
  std::vector<double> measured;  // At steps 0, 10, 20, ...
  std::vector<int64_t> falling_steps;
  std::vector<int64_t> rising_steps;
};

class StaircaseTest : public ::testing::TestWithParam<Case> {};

TEST_P(StaircaseTest, KeepsWhatImproves) {
  const Case& c = GetParam();
  TrialStaircases stairs(1);
  for (size_t i = 0; i < c.measured.size(); ++i) stairs.Add(10 * static_cast<int64_t>(i), 0, c.measured[i]);
  EXPECT_EQ(stairs.falling(0).steps, c.falling_steps);
  EXPECT_EQ(stairs.rising(0).steps, c.rising_steps);
}

INSTANTIATE_TEST_SUITE_P(All, StaircaseTest,
                         ::testing::Values(Case{"Nothing", {}, {}, {}},  //
                                           Case{"One", {0.5}, {0}, {0}},
                                           Case{"Falling", {0.9, 0.5, 0.7, 0.4}, {0, 10, 30}, {0}},
                                           Case{"EqualIsNoImprovement", {0.5, 0.5, 0.4, 0.4}, {0, 20}, {0}},
                                           Case{"NanFirst", {kNan, 0.5, kNan, 0.4}, {10, 30}, {10}},
                                           Case{"NeverFinite", {kNan, kInf, -kInf}, {}, {}},
                                           Case{"InfinityIsNeverARecord", {0.5, -kInf, kInf, 0.4}, {0, 30}, {0}},
                                           Case{"NegativeZeroEqualsZero", {0.0, -0.0}, {0}, {0}},
                                           Case{"Denormals", {5e-324, 0.0, 1e-323}, {0, 10}, {0, 20}}),
                         [](const auto& info) { return info.param.name; });

TEST(TrialStaircasesTest, KeepsMetricsApart) {
  TrialStaircases stairs(2);
  stairs.Add(1, 0, 0.5);
  stairs.Add(1, 1, kNan);
  stairs.Add(2, 0, kNan);
  stairs.Add(2, 1, 0.7);
  EXPECT_THAT(stairs.falling(0).steps, ElementsAre(1));
  EXPECT_THAT(stairs.rising(1).steps, ElementsAre(2));
  EXPECT_THAT(stairs.rising(1).values, ElementsAre(0.7));
}

}  // namespace
}  // namespace stepcurve
