// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/merge.h"

#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

// Two metrics whose values tell where they belong: 10 x step and 10 x step + 1.
AttemptEvents Points(std::vector<int64_t> steps) {
  AttemptEvents events;
  events.steps = std::move(steps);
  for (int metric = 0; metric < 2; ++metric) {
    for (const int64_t step : events.steps) {
      events.values.push_back(10.0 * static_cast<double>(step) + metric);
    }
  }
  return events;
}

AttemptEvents End(int64_t last_step) {
  AttemptEvents events;
  events.ending = Ending{.last_step = last_step, .outcome = Complete{}};
  return events;
}

struct Case {
  const char* name;
  std::vector<int64_t> earlier;
  std::vector<int64_t> later;
  std::vector<int64_t> merged;
};

class MergePointsTest : public ::testing::TestWithParam<Case> {};

TEST_P(MergePointsTest, KeepsEachPointOnceMetricByMetric) {
  AttemptEvents events = Points(GetParam().earlier);
  ASSERT_TRUE(MergeInto(events, Points(GetParam().later)));
  EXPECT_EQ(events.steps, GetParam().merged);
  EXPECT_EQ(events.values, Points(GetParam().merged).values);
}

INSTANTIATE_TEST_SUITE_P(All, MergePointsTest,
                         ::testing::Values(Case{"Following", {1, 2}, {5, 9}, {1, 2, 5, 9}},
                                           Case{"IntoNothing", {}, {5, 9}, {5, 9}},
                                           Case{"NothingMore", {1, 2}, {}, {1, 2}},
                                           Case{"AgainTheSame", {1, 2}, {1, 2}, {1, 2}},
                                           Case{"AgainAndOn", {1, 2, 4}, {1, 2, 4, 6, 8}, {1, 2, 4, 6, 8}},
                                           Case{"OverlappingTail", {3, 4}, {1, 2, 3, 4, 6}, {3, 4, 6}}),
                         [](const auto& info) { return info.param.name; });

TEST(MergeIntoTest, StartReportsAndEndBecomeOne) {
  AttemptEvents events;
  events.base_step = -1;
  AttemptEvents report = Points({0, 1});
  report.train_seconds = 2;
  report.eval_seconds = 1;
  ASSERT_TRUE(MergeInto(events, std::move(report)));
  ASSERT_TRUE(MergeInto(events, End(1)));
  EXPECT_EQ(events.base_step, -1);
  EXPECT_THAT(events.steps, ElementsAre(0, 1));
  EXPECT_EQ(events.train_seconds, 2);
  EXPECT_EQ(events.eval_seconds, 1);
  ASSERT_TRUE(events.ending.has_value());
  EXPECT_EQ(events.ending->last_step, 1);
}

TEST(MergeIntoTest, NothingFollowsAnEnding) {
  AttemptEvents events = Points({1});
  ASSERT_TRUE(MergeInto(events, End(1)));
  AttemptEvents again = Points({1, 2});
  again.ending = Ending{.last_step = 2, .outcome = Released{"drain"}};
  ASSERT_TRUE(MergeInto(events, std::move(again)));
  EXPECT_THAT(events.steps, ElementsAre(1));
  EXPECT_TRUE(std::holds_alternative<Complete>(events.ending->outcome));
}

TEST(MergeIntoTest, RefusesAnotherWidthAndChangesNothing) {
  AttemptEvents events = Points({1, 2});
  AttemptEvents narrow;
  narrow.steps = {3};
  narrow.values = {0.5};
  narrow.ending = Ending{};
  EXPECT_FALSE(MergeInto(events, std::move(narrow)));
  EXPECT_THAT(events.steps, ElementsAre(1, 2));
  EXPECT_FALSE(events.ending.has_value());
  EXPECT_THAT(narrow.steps, ElementsAre(3));
}

TEST(BytesOfTest, CountsWhatGrows) {
  AttemptEvents events;
  const size_t empty = BytesOf(events);
  EXPECT_GT(empty, 0u);
  events = Points({1, 2});
  EXPECT_EQ(BytesOf(events), empty + 6 * 8);
  events.ending = Ending{.log_tail = "0123456789"};
  EXPECT_EQ(BytesOf(events), empty + 6 * 8 + 10);
}

}  // namespace
}  // namespace stepcurve
