// SPDX-License-Identifier: Apache-2.0
#include "worker/training/schedule.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

struct Case {
  std::string name;
  std::string schedule;
  std::vector<Metaparameter> parameters;
  std::vector<double> rates;  // Of updates 0, 1, 2, ... of a budget of 10.
};

class LearningRateTest : public ::testing::TestWithParam<Case> {};

TEST_P(LearningRateTest, FollowsTheFormula) {
  TrialRun run;
  run.budget_steps = 10;
  run.schedule = GetParam().schedule;
  run.parameters = GetParam().parameters;
  const auto schedule = MakeSchedule(run);
  ASSERT_THAT(schedule, IsOk());
  for (size_t update = 0; update < GetParam().rates.size(); ++update) {
    EXPECT_NEAR(LearningRate(*schedule, static_cast<int64_t>(update)), GetParam().rates[update], 1e-15) << update;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LearningRateTest,
    ::testing::Values(
        Case{"Constant", "constant", {{"learning_rate", 0.5}}, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}},
        // r0 - (1 - a) r0 t / T for t <= T = 4, then a r0.
        Case{"Linear",
             "linear",
             {{"learning_rate", 0.8}, {"learning_rate_decay_steps", 4}, {"end_learning_rate_factor", 0.25}},
             {0.8, 0.65, 0.5, 0.35, 0.2, 0.2, 0.2}},
        Case{"LinearOverTheBudgetToZero",
             "linear",
             {{"learning_rate", 1}},
             {1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0}},
        Case{"LinearThatEndsWhereItBegan",
             "linear",
             {{"learning_rate", 2}, {"learning_rate_decay_steps", 2}, {"end_learning_rate_factor", 1}},
             {2, 2, 2, 2}},
        // r0 (u + 1) / W, W = 4.
        Case{"WarmupConstant",
             "warmup_constant",
             {{"learning_rate", 0.4}, {"warmup_steps", 4}},
             {0.1, 0.2, 0.3, 0.4, 0.4, 0.4}},
        Case{"WarmupOfNothing", "warmup_constant", {{"learning_rate", 0.4}, {"warmup_steps", 0}}, {0.4, 0.4}},
        // The decay counts from the end of warm-up and by default takes the rest of the budget.
        Case{"WarmupLinear",
             "warmup_linear",
             {{"learning_rate", 1}, {"warmup_steps", 2}},
             {0.5, 1, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125, 0}},
        Case{"WarmupLinearWithDecaySteps",
             "warmup_linear",
             {{"learning_rate", 1},
              {"warmup_steps", 2},
              {"learning_rate_decay_steps", 2},
              {"end_learning_rate_factor", 0.5}},
             {0.5, 1, 1, 0.75, 0.5, 0.5}},
        Case{"WarmupOfTheWholeBudget",
             "warmup_linear",
             {{"learning_rate", 1}, {"warmup_steps", 10}},
             {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0}}),
    [](const auto& info) { return info.param.name; });

TEST(MakeScheduleTest, UnknownScheduleIsNamed) {
  TrialRun run;
  run.schedule = "cosine";
  EXPECT_THAT(MakeSchedule(run), Fails(absl::StatusCode::kInvalidArgument, "schedule is cosine"));
}

}  // namespace
}  // namespace stepcurve
