// SPDX-License-Identifier: Apache-2.0
#include "worker/training/measurement_plan.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/training/small_run.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MeasurementPlanTest, EverySplitIsDueAtEveryEvaluationUnlessTheRunSaysOtherwise) {
  const auto plan = MeasurementPlan::Make(SmallRun());
  ASSERT_THAT(plan, IsOk());
  for (const int64_t evaluation : {0, 1, 2, 3}) {
    EXPECT_THAT(plan->Due(evaluation), ElementsAre(Split::kTrain, Split::kVal, Split::kTest));
    EXPECT_THAT(plan->Skipped(evaluation), IsEmpty());
  }
}

TEST(MeasurementPlanTest, SplitWithAnIntervalIsDueAtEveryNth) {
  TrialRun run = SmallRun();
  run.split_intervals = {{"val", 1}, {"test", 2}, {"train", 4}};
  const auto plan = MeasurementPlan::Make(run);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->Due(0), ElementsAre(Split::kTrain, Split::kVal, Split::kTest));
  EXPECT_THAT(plan->Due(1), ElementsAre(Split::kVal));
  EXPECT_THAT(plan->Skipped(1), ElementsAre(Split::kTrain, Split::kTest));
  EXPECT_THAT(plan->Due(2), ElementsAre(Split::kVal, Split::kTest));
  EXPECT_THAT(plan->Skipped(2), ElementsAre(Split::kTrain));
  EXPECT_THAT(plan->Due(4), ElementsAre(Split::kTrain, Split::kVal, Split::kTest));
}

TEST(MeasurementPlanTest, SplitWithoutMetricsIsNeverTakenIn) {
  TrialRun run = SmallRun();
  run.metrics = {"val/classification_error"};
  run.split_intervals = {{"test", 3}};
  const auto plan = MeasurementPlan::Make(run);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->Due(0), ElementsAre(Split::kVal));
  EXPECT_THAT(plan->Skipped(1), IsEmpty());
}

TEST(MeasurementPlanTest, ScoresStandWhereTheRunWantsThem) {
  TrialRun run = SmallRun();
  run.metrics = {"test/cross_entropy_error", "val/classification_error", "test/classification_error"};
  const auto plan = MeasurementPlan::Make(run);
  ASSERT_THAT(plan, IsOk());
  std::vector<double> values = plan->Empty();
  plan->Fill(Split::kTest, {.wrong = 1, .total = 4, .cross_entropy_sum = 10}, values);
  EXPECT_THAT(values, ElementsAre(2.5, ::testing::NanSensitiveDoubleEq(std::nan("")), 0.25));
}

TEST(MeasurementPlanTest, GoalIsCrossedOnceAndNaNCrossesNone) {
  TrialRun run = SmallRun();
  run.metrics = {"val/classification_error", "test/classification_error"};
  run.goals = {{.metric = "val/classification_error", .threshold = 0.1},
               {.metric = "val/classification_error", .threshold = 0.05},
               {.metric = "test/classification_error", .threshold = 0.1}};
  auto plan = MeasurementPlan::Make(run);
  ASSERT_THAT(plan, IsOk());
  const double nan = std::nan("");
  EXPECT_FALSE(plan->CrossesGoal({0.1, nan}));  // Equal is not past.
  EXPECT_TRUE(plan->CrossesGoal({0.09, nan}));
  EXPECT_FALSE(plan->CrossesGoal({0.2, nan}));
  EXPECT_FALSE(plan->CrossesGoal({0.08, nan}));
  EXPECT_TRUE(plan->CrossesGoal({0.04, nan}));
  EXPECT_TRUE(plan->CrossesGoal({0.03, 0.09}));
  EXPECT_FALSE(plan->CrossesGoal({0.0, 0.0}));
}

TEST(MeasurementPlanTest, UnknownMetricAndBadIntervalAreNamed) {
  TrialRun run = SmallRun();
  run.metrics = {"val/average_precision"};
  EXPECT_THAT(MeasurementPlan::Make(run), Fails(absl::StatusCode::kInvalidArgument, "metric is val/average_precision"));
  run = SmallRun();
  run.split_intervals = {{"val", 0}};
  EXPECT_THAT(MeasurementPlan::Make(run), Fails(absl::StatusCode::kInvalidArgument, "interval of split val is 0"));
}

}  // namespace
}  // namespace stepcurve
