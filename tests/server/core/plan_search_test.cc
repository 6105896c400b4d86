// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_search.h"

#include <set>

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

StudyPlan First(const SweepSpec& spec) {
  const auto plan = PlanSweep(spec);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? plan->studies[0] : StudyPlan{};
}

SpaceEntrySpec GridRate(int64_t count) {
  return Range("learning_rate", {.min = 1e-4, .max = 10, .scale = "log", .count = count});
}

TEST(PlanSearchTest, GridDefaultsToItsPointsAndNothingBeyond) {
  SweepSpec spec = SgdSpec();
  spec.search = SearchSpec{.sampler = "grid", .space = {GridRate(6), Values("label_smoothing", {0, 0.1})}};
  const StudyPlan study = First(spec);
  EXPECT_EQ(study.strands[0].wanted, 12);
  EXPECT_EQ(study.strands[0].max_trials, 12);
  EXPECT_EQ(study.strands[0].initial, 12);
}

TEST(PlanSearchTest, FewerTrialsThanPointsLeaveTheRestForTopUps) {
  SweepSpec spec = SgdSpec();
  spec.search = SearchSpec{.sampler = "grid", .trials = 4, .space = {GridRate(6)}};
  const StudyPlan study = First(spec);
  EXPECT_EQ(study.strands[0].wanted, 4);
  EXPECT_EQ(study.strands[0].max_trials, 6);
}

TEST(PlanSearchTest, WithoutTopUpTheCapIsTheTrials) {
  SweepSpec spec = SgdSpec();
  spec.search.top_up = false;
  const StudyPlan study = First(spec);
  EXPECT_FALSE(study.definition.top_up);
  EXPECT_EQ(study.strands[0].max_trials, 10);
}

TEST(PlanSearchTest, SplitMakesAStrandPerValueWithItsOwnSequence) {
  SweepSpec spec = SgdSpec();
  spec.search.split = "label_smoothing";
  spec.search.space = {LearningRate(), Values("label_smoothing", {0, 0.01, 0.1})};
  const StudyPlan study = First(spec);
  ASSERT_EQ(study.strands.size(), 3u);
  std::set<double> rates;
  for (const StrandPlan& strand : study.strands) {
    EXPECT_EQ(strand.wanted, 10);
    EXPECT_EQ(strand.max_trials, 100);
    const Point point = MakeSampler(study.definition, strand.split_value).At(0, {});
    EXPECT_EQ(point.parameters[1], *strand.split_value);
    rates.insert(point.parameters[0]);
  }
  EXPECT_EQ(rates.size(), 3u);
  EXPECT_EQ(*study.strands[2].split_value, 0.1);
}

TEST(PlanSearchTest, SplitOfAGridTakesTheOtherEntries) {
  SweepSpec spec = SgdSpec();
  spec.search = SearchSpec{
      .sampler = "grid", .split = "label_smoothing", .space = {GridRate(6), Values("label_smoothing", {0, 0.1})}};
  const StudyPlan study = First(spec);
  ASSERT_EQ(study.strands.size(), 2u);
  EXPECT_EQ(study.strands[1].wanted, 6);
}

TEST(PlanSearchTest, SharedPointsAreTheSameAtEveryBatchSize) {
  SweepSpec spec = SgdSpec();
  spec.batch_sizes->sizes = {32, 512};
  for (const char* across : {"independent", "shared"}) {
    spec.search.points_across_batch_sizes = across;
    const auto plan = PlanSweep(spec);
    ASSERT_THAT(plan, IsOk());
    const Point a = MakeSampler(plan->studies[0].definition, std::nullopt).At(0, {});
    const Point b = MakeSampler(plan->studies[1].definition, std::nullopt).At(0, {});
    EXPECT_EQ(a == b, std::string(across) == "shared");
  }
}

// Adding a batch size, reordering the file or renaming the sweep must not move a point.
TEST(PlanSearchTest, PointsDependOnNothingElseInTheFile) {
  SweepSpec spec = GoodSpec();
  const StudyDefinition before = First(spec).definition;
  spec.name = "other";
  spec.batch_sizes->sizes = {8, 32, 512};
  spec.workloads[0].optimizer = {"momentum", "sgd"};
  spec.workloads[0].variant = "named";
  spec.search.trials = 50;
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& after = plan->studies[4].definition;
  ASSERT_EQ(after.batch_size, 32);
  ASSERT_EQ(after.workload.optimizer, "sgd");
  const auto a = NewTrials(before, MakeSampler(before, std::nullopt), 0, 10, 1);
  const auto b = NewTrials(after, MakeSampler(after, std::nullopt), 0, 10, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(a[i].point, b[i].point);
    EXPECT_EQ(a[i].training_seed, b[i].training_seed);
  }
}

class SearchRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(SearchRefusedTest, Says) { ExpectRefused(SgdSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, SearchRefusedTest,
    ::testing::Values(
        RefusedCase{"UnknownSampler", [](SweepSpec& s) { s.search.sampler = "haltn"; }, "search.sampler",
                    "unknown sampler \"haltn\"; nearest: halton"},
        RefusedCase{"NegativeSeed", [](SweepSpec& s) { s.search.seed = -1; }, "search.seed", "at least 0"},
        RefusedCase{"NoTrials", [](SweepSpec& s) { s.search.trials.reset(); }, "search.trials",
                    "is required with the sampler halton"},
        RefusedCase{"ZeroTrials", [](SweepSpec& s) { s.search.trials = 0; }, "search.trials",
                    "is 0; it must be at least 1"},
        RefusedCase{"NegativeTrials", [](SweepSpec& s) { s.search.trials = -3; }, "search.trials", "-3"},
        RefusedCase{"TooManyTrials", [](SweepSpec& s) { s.search.trials = 1'000'001; }, "search.trials",
                    "1000001 trials are too many; at most 1000000 a sweep"},
        RefusedCase{"FarTooManyTrials", [](SweepSpec& s) { s.search.trials = INT64_MAX; }, "search.trials",
                    "9223372036854775807 trials are too many"},
        RefusedCase{"TooManyOverAll",
                    [](SweepSpec& s) {
                      s.search.trials = 500'001, s.batch_sizes->sizes = {1, 2};
                    },
                    "search.trials", "the sweep wants more than 1000000 trials"},
        RefusedCase{"CapBelowTrials", [](SweepSpec& s) { s.search.max_trials = 9; }, "search.max_trials",
                    "is 9; it must be 10 (trials) to"},
        RefusedCase{"CapBeyondAll", [](SweepSpec& s) { s.search.max_trials = INT64_MAX; }, "search.max_trials",
                    "1000000000"},
        RefusedCase{"Repeats", [](SweepSpec& s) { s.search.repeats = 3; }, "search.repeats",
                    "not available in this version"},
        RefusedCase{"NoRepeats", [](SweepSpec& s) { s.search.repeats = 0; }, "search.repeats", "at least 1"},
        RefusedCase{"Across", [](SweepSpec& s) { s.search.points_across_batch_sizes = "share"; },
                    "search.points_across_batch_sizes", "shared"},
        RefusedCase{"NothingToDraw", [](SweepSpec& s) { s.search.space = {Fixed("learning_rate", 1)}; }, "search.space",
                    "has nothing to draw"},
        RefusedCase{"NothingToDrawBesideTheSplit",
                    [](SweepSpec& s) {
                      s.search.split = "learning_rate";
                      s.search.space = {Values("learning_rate", {1, 2})};
                    },
                    "search.space", "has nothing to draw"},
        RefusedCase{"SplitOfNothing", [](SweepSpec& s) { s.search.split = "momentum"; }, "search.split",
                    "the space has no parameter momentum"},
        RefusedCase{"SplitOfARange", [](SweepSpec& s) { s.search.split = "learning_rate"; }, "search.split",
                    "learning_rate has no values"},
        RefusedCase{"SplitOfPoints",
                    [](SweepSpec& s) {
                      s.search = SearchSpec{.sampler = "points",
                                            .split = "learning_rate",
                                            .points = PointsSpec{.names = {"learning_rate"}, .values = {1}}};
                    },
                    "search.split", "does not go with the sampler points"},
        RefusedCase{"PointsWithAnotherSampler",
                    [](SweepSpec& s) {
                      s.search.sampler = "halton";
                      s.search.points = PointsSpec{.names = {"learning_rate"}, .values = {1}};
                    },
                    "search.points", "goes with the sampler points, not with halton"},
        RefusedCase{"PointsAndASpace",
                    [](SweepSpec& s) { s.search.points = PointsSpec{.names = {"learning_rate"}, .values = {1}}; },
                    "search.space.learning_rate", "takes every value from points"},
        RefusedCase{"PointsWithoutPoints", [](SweepSpec& s) { s.search = SearchSpec{.sampler = "points"}; },
                    "search.points", "is required"},
        RefusedCase{
            "MoreTrialsThanPoints",
            [](SweepSpec& s) {
              s.search = SearchSpec{.trials = 3, .points = PointsSpec{.names = {"learning_rate"}, .values = {1, 2}}};
            },
            "search.trials", "is 3, and batch size 100 has only 2 points"},
        RefusedCase{"GridBeyondASweep",
                    [](SweepSpec& s) {
                      s.search = SearchSpec{
                          .sampler = "grid",
                          .space = {GridRate(1001), Range("label_smoothing", {.min = 0, .max = 0.5, .count = 1000})}};
                    },
                    "search.trials", "1001000 trials are too many"}),
    CaseName);

TEST(PlanSearchTest, OneFixedTrialIsFine) {
  SweepSpec spec = SgdSpec();
  spec.search = SearchSpec{.trials = 1, .space = {Fixed("learning_rate", 1)}};
  EXPECT_EQ(First(spec).strands[0].max_trials, 10);
}

TEST(PlanSearchTest, SeedsUpToInt64AreKept) {
  SweepSpec spec = SgdSpec();
  spec.search.seed = INT64_MAX;
  EXPECT_EQ(First(spec).definition.search_seed, INT64_MAX);
}

TEST(PlanSearchTest, OneMillionTrialsAreFine) {
  SweepSpec spec = SgdSpec();
  spec.search.trials = 500'000;
  spec.batch_sizes->sizes = {1, 2};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->wanted(), 1'000'000);
}

}  // namespace
}  // namespace stepcurve
