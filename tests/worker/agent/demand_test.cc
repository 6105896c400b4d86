// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/demand.h"

#include <string>

#include <gtest/gtest.h>

namespace stepcurve {
namespace {

struct Case {
  std::string name;
  int64_t slots;
  absl::Duration typical;  // Zero: nothing has run yet.
  absl::Duration longest;
  int64_t ahead;
};

class AheadTest : public ::testing::TestWithParam<Case> {};

TEST_P(AheadTest, HoldsWhatTheSlotsUseUpInASecond) {
  Demand demand(GetParam().slots);
  if (GetParam().typical > absl::ZeroDuration()) demand.Ran(GetParam().typical);
  EXPECT_EQ(demand.Ahead(GetParam().longest), GetParam().ahead);
}

INSTANTIATE_TEST_SUITE_P(All, AheadTest,
                         ::testing::Values(Case{"NothingKnown", 4, absl::ZeroDuration(), absl::ZeroDuration(), 0},
                                           Case{"Hours", 8, absl::Hours(2), absl::ZeroDuration(), 0},
                                           Case{"HalfASecond", 2, absl::Milliseconds(500), absl::ZeroDuration(), 4},
                                           Case{"Milliseconds", 2, absl::Milliseconds(10), absl::ZeroDuration(), 200},
                                           Case{"Microseconds", 2, absl::Microseconds(10), absl::ZeroDuration(), 1024},
                                           Case{"ShortOnesFollowedByALongOne", 2, absl::Milliseconds(10),
                                                absl::Minutes(5), 0}),
                         [](const auto& info) { return info.param.name; });

TEST(DemandTest, TotalIsCumulativeAndNeverFalls) {
  Demand demand(2);
  EXPECT_EQ(demand.WantedTotal(0, absl::ZeroDuration()), 2);
  demand.Assigned();
  demand.Assigned();
  EXPECT_EQ(demand.WantedTotal(2, absl::ZeroDuration()), 2) << "full";
  EXPECT_EQ(demand.WantedTotal(1, absl::ZeroDuration()), 3) << "one slot came free";
  EXPECT_EQ(demand.WantedTotal(2, absl::ZeroDuration()), 3);
  demand.Restart();
  EXPECT_EQ(demand.WantedTotal(2, absl::ZeroDuration()), 0) << "a new stream, both slots busy";
  EXPECT_EQ(demand.WantedTotal(0, absl::ZeroDuration()), 2);
}

TEST(DemandTest, TheTypicalDurationFollowsTheTrials) {
  Demand demand(1);
  demand.Ran(absl::Milliseconds(1));
  EXPECT_EQ(demand.Ahead(absl::ZeroDuration()), 1000);
  for (int i = 0; i < 50; ++i) demand.Ran(absl::Seconds(10));
  EXPECT_EQ(demand.Ahead(absl::ZeroDuration()), 0);
}

}  // namespace
}  // namespace stepcurve
