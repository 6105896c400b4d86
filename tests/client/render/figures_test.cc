// SPDX-License-Identifier: Apache-2.0
#include "client/render/figures.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/client/messages.h"

namespace stepcurve {
namespace {

TEST(FiguresTest, GroupsThousands) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(-1000), "-1,000");
  EXPECT_EQ(Grouped(-999), "-999");
  EXPECT_EQ(Grouped(21684), "21,684");
  EXPECT_EQ(Grouped(std::numeric_limits<int64_t>::max()), "9,223,372,036,854,775,807");
}

TEST(FiguresTest, ShortensToThreeDigits) {
  EXPECT_EQ(Short(0), "0");
  EXPECT_EQ(Short(302), "302");
  EXPECT_EQ(Short(999), "999");
  EXPECT_EQ(Short(999.6), "1.00 k");
  EXPECT_EQ(Short(1700, ""), "1.70k");
  EXPECT_EQ(Short(9996), "10.0 k");
  EXPECT_EQ(Short(43368), "43.4 k");
  EXPECT_EQ(Short(154624), "155 k");
  EXPECT_EQ(Short(8.07e6), "8.07 M");
  EXPECT_EQ(Short(3.3e9), "3.30 G");
  EXPECT_EQ(Short(std::numeric_limits<double>::infinity()), "Infinity");
}

TEST(FiguresTest, NamesSpansByTheLargestFittingUnit) {
  EXPECT_EQ(Span(absl::Seconds(0)), "0 s");
  EXPECT_EQ(Span(absl::Seconds(95)), "95 s");
  EXPECT_EQ(Span(absl::Seconds(120)), "2 min");
  EXPECT_EQ(Span(absl::Minutes(150)), "2 h");
  EXPECT_EQ(Span(absl::Hours(72)), "3 d");
}

TEST(FiguresTest, NamesStatesAsCommandsTakeThem) {
  EXPECT_EQ(NameOf(v1::SWEEP_CANCELLED), "cancelled");
  EXPECT_EQ(NameOf(v1::ACTIVE), "active");
  EXPECT_EQ(NameOf(v1::SWEEP_STATE_UNSPECIFIED), "");
  EXPECT_EQ(NameOf(v1::INFEASIBLE), "infeasible");
  EXPECT_EQ(NameOf(v1::BY_CANCEL), "cancelled");
  EXPECT_EQ(NameOf(v1::LOST_TOO_OFTEN), "lost_too_often");
  EXPECT_EQ(NameOf(v1::CurvePoint::NOT_REACHED), "not_reached");
  EXPECT_EQ(NameOf(v1::CurvePoint::FINAL), "final");
}

TEST(FiguresTest, DescribesSpacesGridsGoalsAndTimes) {
  EXPECT_EQ(SpaceText(FromText<v1::SpaceEntry>("name: 'a' fixed: 1e-4")), "a 1e-4");
  EXPECT_EQ(SpaceText(FromText<v1::SpaceEntry>("name: 'a' values { values: [0, 0.1] }")), "a {0, 0.1}");
  EXPECT_EQ(SpaceText(FromText<v1::SpaceEntry>("name: 'a' values {}")), "a");
  EXPECT_EQ(SpaceText(FromText<v1::SpaceEntry>(
                "name: 'a' range { min: 0.5 max: 1 integer: true count: 4 } times { budget: true }")),
            "a 0.5..1 integer in 4 x budget");
  EXPECT_EQ(SpaceText(FromText<v1::SpaceEntry>(
                "name: 'a' range { min: 1 max: 2 scale: 'log' } times { batch_size { power: 0.5 at: 256 } }")),
            "a 1..2 log x (batch size / 256)^0.5");
  EXPECT_EQ(GridText(FromText<v1::EvaluationGrid>("geometric { ratio_millionths: 1050000 first: 3 }")),
            "geometric 1.05");
  EXPECT_EQ(GridText(FromText<v1::EvaluationGrid>("every: 50")), "every 50");
  EXPECT_EQ(GoalText(FromText<v1::Goal>("metric: 'val/ap' comparison: GREATER_OR_EQUAL threshold: 0.31")),
            "val/ap >= 0.31");
  EXPECT_EQ(Rfc3339(FromText<google::protobuf::Timestamp>("seconds: 1800000000 nanos: 5000000")),
            "2027-01-15T08:00:00.005Z");
  EXPECT_EQ(Rfc3339({}), "");
}

}  // namespace
}  // namespace stepcurve
