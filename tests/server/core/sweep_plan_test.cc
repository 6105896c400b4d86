// SPDX-License-Identifier: Apache-2.0
#include "server/core/sweep_plan.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "proto/support/hash.h"

namespace stepcurve {
namespace {

struct TopUpCase {
  const char* name;
  TopUpInput strand;
  int64_t added;
};
void PrintTo(const TopUpCase& row, std::ostream* out) { *out << row.name; }

class TopUpTest : public ::testing::TestWithParam<TopUpCase> {};

TEST_P(TopUpTest, Adds) { EXPECT_EQ(TopUp(GetParam().strand), GetParam().added); }

TopUpInput Strand(TopUpInput rest) {
  rest.wanted = 10;
  rest.max_trials = rest.max_trials == 0 ? 100 : rest.max_trials;
  rest.sampler_size = rest.sampler_size == 0 ? INT64_MAX : rest.sampler_size;
  return rest;
}

INSTANTIATE_TEST_SUITE_P(
    All, TopUpTest,
    ::testing::Values(TopUpCase{"AllQueued", Strand({.created = 10, .queued = 10}), 0},
                      TopUpCase{"AllComplete", Strand({.created = 10, .complete = 10}), 0},
                      TopUpCase{"OneDiverged", Strand({.created = 10, .complete = 4, .queued = 3, .running = 2}), 1},
                      TopUpCase{"OneDivergedAndReplaced",
                                Strand({.created = 11, .complete = 4, .queued = 4, .running = 2}), 0},
                      TopUpCase{"AllDiverged", Strand({.created = 10}), 10},
                      TopUpCase{"StoppedCount", Strand({.created = 10, .complete = 4, .stopped = 5}), 1},
                      TopUpCase{"FailedAreNotReplaced", Strand({.created = 10, .complete = 4, .failed = 6}), 0},
                      TopUpCase{"UpToTheCap", Strand({.max_trials = 12, .created = 10}), 2},
                      TopUpCase{"AtTheCap", Strand({.max_trials = 10, .created = 10}), 0},
                      TopUpCase{"AboveTheCap", Strand({.max_trials = 10, .created = 12}), 0},
                      TopUpCase{"UpToTheLastPoint", Strand({.created = 10, .sampler_size = 13}), 3},
                      TopUpCase{"PointsUsedUp", Strand({.created = 10, .sampler_size = 10}), 0},
                      TopUpCase{"WithoutTopUp", Strand({.top_up = false, .created = 10}), 0},
                      TopUpCase{"MoreThanWanted", Strand({.created = 12, .complete = 12}), 0}),
    [](const auto& info) { return std::string(info.param.name); });

StudyDefinition Study() {
  StudyDefinition study;
  study.workload = {.dataset = "mnist", .model = "fc_64", .optimizer = "sgd"};
  study.batch_size = 32;
  study.budget_steps = 1000;
  study.space = {{"learning_rate", RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog}, {}}};
  return study;
}

TEST(NewTrialsTest, CountOnFromWhereTheStrandStands) {
  const StudyDefinition study = Study();
  const Sampler sampler = MakeSampler(study, std::nullopt);
  const std::vector<NewTrial> first = NewTrials(study, sampler, 0, 12, 1);
  const std::vector<NewTrial> topped_up = NewTrials(study, sampler, 10, 2, 11);
  ASSERT_EQ(first.size(), 12u);
  ASSERT_EQ(topped_up.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(topped_up[i].position, 10 + i);
    EXPECT_EQ(topped_up[i].number, 11 + i);
    EXPECT_EQ(topped_up[i].repeat, 0);
    EXPECT_EQ(topped_up[i].point, first[10 + i].point) << "a prefix, however it is cut";
    EXPECT_EQ(topped_up[i].training_seed, first[10 + i].training_seed);
  }
  EXPECT_EQ(first[0].training_seed, TrainingSeed(0, "mnist{}/fc_64{}/sgd", 32, 1, 0));
}

TEST(NewTrialsTest, RepeatsShareAPointAndANumberButNoSeed) {
  StudyDefinition study = Study();
  study.repeats = 3;
  const std::vector<NewTrial> trials = NewTrials(study, MakeSampler(study, std::nullopt), 3, 6, 2);
  ASSERT_EQ(trials.size(), 6u);
  EXPECT_EQ(trials[0].number, 2);
  EXPECT_EQ(trials[2].number, 2);
  EXPECT_EQ(trials[2].repeat, 2);
  EXPECT_EQ(trials[3].number, 3);
  EXPECT_EQ(trials[0].point, trials[2].point);
  EXPECT_NE(trials[0].point, trials[3].point);
  EXPECT_NE(trials[0].training_seed, trials[1].training_seed);
}

TEST(SweepPlanTest, AddsUpOverStrands) {
  SweepPlan plan;
  plan.studies = {{.strands = {{.wanted = 1, .max_trials = 10}, {.wanted = 2, .max_trials = 20}}},
                  {.strands = {{.wanted = 4, .max_trials = 40}}}};
  EXPECT_EQ(plan.wanted(), 7);
  EXPECT_EQ(plan.max_trials(), 70);
}

}  // namespace
}  // namespace stepcurve
