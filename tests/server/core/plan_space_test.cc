// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_space.h"

#include <cmath>
#include <limits>

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

// The space of a spec's first study.
SearchSpace Space(const SweepSpec& spec) {
  const auto plan = PlanSweep(spec);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? plan->studies[0].definition.space : SearchSpace{};
}

TEST(PlanSpaceTest, KeepsEntriesInTheAuthorsOrder) {
  SweepSpec spec = SgdSpec();
  spec.training.schedule = "warmup_linear";
  spec.search.space = {
      Range("learning_rate_decay_steps", {.min = 0.5, .max = 1}, TimesBudgetSpec{}),
      Range("learning_rate", {.min = 1e-4, .max = 10, .scale = "log"}, TimesBatchSizeSpec{.power = 0.5, .at = 256}),
      Values("label_smoothing", {0, 0.1, 0.01}),
      Fixed("weight_decay", 1e-4),
      Range("warmup_steps", {.min = 0, .max = 10, .integer = true}),
      Range("end_learning_rate_factor", {.min = 1, .max = 2}, TimesParameterSpec{"label_smoothing"})};
  const SearchSpace space = Space(spec);
  ASSERT_EQ(space.size(), 6u);
  EXPECT_EQ(space[0], (SpaceEntry{"learning_rate_decay_steps", RangeEntry{.min = 0.5, .max = 1}, TimesBudget{}}));
  EXPECT_EQ(space[1], (SpaceEntry{"learning_rate", RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog},
                                  TimesBatchSize{.power = 0.5, .at = 256}}));
  EXPECT_EQ(space[2], (SpaceEntry{"label_smoothing", ValuesEntry{{0, 0.1, 0.01}}, {}}));
  EXPECT_EQ(space[3], (SpaceEntry{"weight_decay", FixedEntry{1e-4}, {}}));
  EXPECT_EQ(space[4], (SpaceEntry{"warmup_steps", RangeEntry{.min = 0, .max = 10, .integer = true}, {}}));
  EXPECT_EQ(space[5].times, (Times{TimesParameter{"label_smoothing"}}));
}

TEST(PlanSpaceTest, BoundsMayBeAsSmallAndLargeAsDoublesAre) {
  SweepSpec spec = SgdSpec();
  spec.search.space = {Range("learning_rate", {.min = 1e-320, .max = 1e308, .scale = "log"})};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& study = plan->studies[0].definition;
  for (const NewTrial& trial : NewTrials(study, MakeSampler(study, std::nullopt), 0, 100, 1)) {
    EXPECT_GE(trial.point.parameters[0], 1e-320);
    EXPECT_LE(trial.point.parameters[0], 1e308);
  }
}

void Replace(SweepSpec& spec, SpaceEntrySpec entry) { spec.search.space = {LearningRate(), std::move(entry)}; }

class SpaceRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(SpaceRefusedTest, Says) { ExpectRefused(SgdSpec(), GetParam()); }

const double kInf = std::numeric_limits<double>::infinity();
const char kRate[] = "search.space.learning_rate";

INSTANTIATE_TEST_SUITE_P(
    Ranges, SpaceRefusedTest,
    ::testing::Values(
        RefusedCase{"Empty", [](SweepSpec& s) { s.search.space.clear(); }, "search.space", "is required"},
        RefusedCase{"EmptyEntry", [](SweepSpec& s) { s.search.space = {{.name = "learning_rate"}}; }, kRate,
                    "is empty"},
        RefusedCase{"NullOutsideAnOverride", [](SweepSpec& s) { s.search.space = {Removed("learning_rate")}; }, kRate,
                    "is empty"},
        RefusedCase{"Twice",
                    [](SweepSpec& s) {
                      s.search.space = {LearningRate(), LearningRate()};
                    },
                    kRate, "twice"},
        RefusedCase{"LowAboveHigh",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 2, .max = 1})}; }, kRate,
                    "min 2 is above max 1"},
        RefusedCase{"LowIsHigh", [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 1, .max = 1})}; },
                    kRate, "write the number"},
        RefusedCase{
            "LogFromZero",
            [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 0, .max = 1, .scale = "log"})}; },
            kRate, "min 0 has no logarithm; with scale log min must be above 0"},
        RefusedCase{
            "LogFromBelowZero",
            [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = -4, .max = 1, .scale = "log"})}; },
            kRate, "bounds are values"},
        RefusedCase{
            "ReverseLogToOne",
            [](SweepSpec& s) { Replace(s, Range("label_smoothing", {.min = 0, .max = 1, .scale = "reverse_log"})); },
            "search.space.label_smoothing", "max must be below 1"},
        RefusedCase{
            "UnknownScale",
            [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 1, .max = 2, .scale = "lgo"})}; },
            "search.space.learning_rate.scale", "unknown scale \"lgo\"; nearest: log"},
        RefusedCase{"Infinite",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 1, .max = kInf})}; }, kRate,
                    "finite"},
        RefusedCase{"NotANumber",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = std::nan(""), .max = 1})}; },
                    kRate, "finite"},
        RefusedCase{"NoValues", [](SweepSpec& s) { s.search.space = {Values("learning_rate", {})}; },
                    "search.space.learning_rate.values", "is empty"},
        RefusedCase{"ValueTwice",
                    [](SweepSpec& s) {
                      s.search.space = {Values("learning_rate", {1, 2, 1})};
                    },
                    "search.space.learning_rate.values", "1 is there twice"},
        RefusedCase{"InfiniteValue", [](SweepSpec& s) { s.search.space = {Values("learning_rate", {kInf})}; },
                    "search.space.learning_rate.values", "finite"},
        RefusedCase{"CountWithoutGrid",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 1, .max = 2, .count = 3})}; },
                    "search.space.learning_rate.count", "sampler grid only"},
        RefusedCase{"GridWithoutCount", [](SweepSpec& s) { s.search.sampler = "grid"; }, kRate, "needs count"},
        RefusedCase{"GridOfOne",
                    [](SweepSpec& s) {
                      s.search.sampler = "grid";
                      s.search.space = {Range("learning_rate", {.min = 1, .max = 2, .count = 1})};
                    },
                    "search.space.learning_rate.count", "both ends"},
        RefusedCase{"CountBeyondTheIntegers",
                    [](SweepSpec& s) {
                      s.search.sampler = "grid";
                      s.training.schedule = "warmup_constant";
                      Replace(s, Range("warmup_steps", {.min = 1, .max = 3, .integer = true, .count = 4}));
                      s.search.space[0] = Fixed("learning_rate", 1);
                    },
                    "search.space.warmup_steps.count", "twice; choose a smaller count"}),
    CaseName);

INSTANTIATE_TEST_SUITE_P(
    Parameters, SpaceRefusedTest,
    ::testing::Values(
        RefusedCase{
            "OfAnotherOptimizer", [](SweepSpec& s) { Replace(s, Momentum()); }, "search.space.momentum",
            "optimizer sgd has no momentum (it has learning_rate, weight_decay, gradient_clip, label_smoothing)"},
        RefusedCase{"OfAnotherOptimizerOfTheSweep",
                    [](SweepSpec& s) {
                      s.workloads[0].optimizer = {"sgd", "nesterov_momentum"};
                      Replace(s, Momentum());
                    },
                    "search.space.momentum", "; move it to an override for nesterov_momentum"},
        RefusedCase{"OfAnotherSchedule", [](SweepSpec& s) { Replace(s, Fixed("warmup_steps", 5)); },
                    "search.space.warmup_steps",
                    "schedule constant has no warmup_steps (it has learning_rate, weight_decay, gradient_clip, "
                    "label_smoothing); it exists for schedule warmup_constant, warmup_linear"},
        RefusedCase{"Misspelt", [](SweepSpec& s) { Replace(s, Fixed("lerning_rate", 1)); }, "search.space.lerning_rate",
                    "mnist/fc_64/sgd has no lerning_rate"},
        RefusedCase{"MisspeltNearest", [](SweepSpec& s) { Replace(s, Fixed("lerning_rate", 1)); },
                    "search.space.lerning_rate", "nearest: learning_rate"},
        RefusedCase{"RequiredByTheOptimizer", [](SweepSpec& s) { s.search.space = {Fixed("weight_decay", 0)}; },
                    "search.space", "has no learning_rate, which optimizer sgd requires"},
        RefusedCase{"RequiredByTheSchedule", [](SweepSpec& s) { s.training.schedule = "warmup_linear"; },
                    "search.space", "has no warmup_steps, which schedule warmup_linear requires"},
        RefusedCase{"OutsideItsDomain",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = -1, .max = 1})}; }, kRate,
                    "min -1 is outside (0, inf), where learning_rate must lie"},
        RefusedCase{"LinearFromZero",
                    [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 0, .max = 1})}; }, kRate,
                    "min 0 is outside (0, inf)"},
        RefusedCase{"FixedOutside", [](SweepSpec& s) { Replace(s, Fixed("label_smoothing", 1)); },
                    "search.space.label_smoothing", "1 is outside [0, 1)"},
        RefusedCase{"OneValueOutside",
                    [](SweepSpec& s) {
                      Replace(s, Values("label_smoothing", {0, 0.1, -0.5}));
                    },
                    "search.space.label_smoothing", "-0.5 is outside [0, 1)"}),
    CaseName);

void Linear(SweepSpec& spec, SpaceEntrySpec entry) {
  spec.training.schedule = "linear";
  Replace(spec, std::move(entry));
}
const char kDecay[] = "search.space.learning_rate_decay_steps";

INSTANTIATE_TEST_SUITE_P(
    StepsAndTimes, SpaceRefusedTest,
    ::testing::Values(
        RefusedCase{"StepsAsFraction",
                    [](SweepSpec& s) { Linear(s, Range("learning_rate_decay_steps", {.min = 0.5, .max = 1})); }, kDecay,
                    "write integer: true, or a share of the budget and times: budget"},
        RefusedCase{"FixedFraction", [](SweepSpec& s) { Linear(s, Fixed("learning_rate_decay_steps", 0.5)); }, kDecay,
                    "0.5 is outside whole numbers 1 to budget"},
        RefusedCase{"IntegerWithFractionalBounds",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = 0.5, .max = 10, .integer = true}));
                    },
                    kDecay, "must be whole numbers"},
        RefusedCase{"IntegerBeyondExactDoubles",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = 1, .max = 0x1p54, .integer = true}));
                    },
                    kDecay, "at most 2^53"},
        RefusedCase{"IntegerReverseLog",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps",
                                      {.min = -5, .max = 0, .scale = "reverse_log", .integer = true}));
                    },
                    kDecay, "integer goes with scale linear or log"},
        RefusedCase{"StepsAboveTheBudget",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = 1, .max = 1001, .integer = true}));
                    },
                    kDecay, "max 1001 is above the budget of 1000 steps at batch size 100"},
        RefusedCase{"MoreThanTheBudget",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = 0.5, .max = 2}, TimesBudgetSpec{}));
                    },
                    kDecay, "max 2, 2000 at batch size 100, is above the budget of 1000"},
        RefusedCase{"NegativeShare",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = -0.1, .max = 1}, TimesBudgetSpec{}));
                    },
                    kDecay, "min -0.1 of the budget is below 0"},
        RefusedCase{"NoShareWhereOneStepIsNeeded",
                    [](SweepSpec& s) {
                      Linear(s, Range("learning_rate_decay_steps", {.min = 0, .max = 1}, TimesBudgetSpec{}));
                    },
                    kDecay, "min 0, 0 at batch size 100, is outside whole numbers 1 to budget"},
        RefusedCase{
            "BudgetForARate",
            [](SweepSpec& s) { s.search.space = {Range("learning_rate", {.min = 0.1, .max = 1}, TimesBudgetSpec{})}; },
            "search.space.learning_rate.times", "no number of steps"},
        RefusedCase{"BatchSizeForSteps",
                    [](SweepSpec& s) {
                      Linear(s, Fixed("learning_rate_decay_steps", 5, TimesBatchSizeSpec{1, 10}));
                    },
                    "search.space.learning_rate_decay_steps.times", "only budget can multiply it"},
        RefusedCase{"BatchSizeAtZero",
                    [](SweepSpec& s) { s.search.space[0].times = TimesBatchSizeSpec{.power = 0.5, .at = 0}; },
                    "search.space.learning_rate.times.at", "at least 1"},
        RefusedCase{"Overflow",
                    [](SweepSpec& s) { s.search.space[0].times = TimesBatchSizeSpec{.power = 400, .at = 1}; }, kRate,
                    "beyond the range of a number"},
        RefusedCase{"UnknownFactor", [](SweepSpec& s) { s.search.space[0].times = TimesParameterSpec{"epsilon"}; },
                    "search.space.learning_rate.times", "epsilon is neither budget nor another parameter"},
        RefusedCase{"ItselfAsFactor",
                    [](SweepSpec& s) { s.search.space[0].times = TimesParameterSpec{"learning_rate"}; },
                    "search.space.learning_rate.times", "neither budget nor another"},
        RefusedCase{"Chain",
                    [](SweepSpec& s) {
                      s.search.space = {
                          Fixed("learning_rate", 1, TimesParameterSpec{"weight_decay"}),
                          Range("weight_decay", {.min = 1, .max = 2}, TimesParameterSpec{"learning_rate"})};
                    },
                    "search.space.learning_rate.times", "there are no chains"},
        RefusedCase{"ProductOutside",
                    [](SweepSpec& s) {
                      s.search.space = {
                          LearningRate(), Values("weight_decay", {0, 2}),
                          Range("label_smoothing", {.min = 0.1, .max = 0.6}, TimesParameterSpec{"weight_decay"})};
                    },
                    "search.space.label_smoothing", "max 0.6 x weight_decay 2 = 1.2 is outside [0, 1)"}),
    CaseName);

TEST(PlanSpaceTest, TheQuadraticKnowsRateAndMomentumOnly) {
  ExpectRefused(QuadraticSpec(),
                {"", [](SweepSpec& s) { Replace(s, Fixed("weight_decay", 0)); }, "search.space.weight_decay",
                 "quadratic/noisy_quadratic/sgd has no weight_decay (it has learning_rate)"});
}

SweepSpec PointsSpecOf(PointsSpec points) {
  SweepSpec spec = SgdSpec();
  spec.batch_sizes->sizes = {32, 512};
  spec.search = SearchSpec{.points = std::move(points)};
  return spec;
}

TEST(PlanPointsTest, PointsAloneMakeTheSampler) {
  const auto plan =
      PlanSweep(PointsSpecOf({.names = {"weight_decay", "learning_rate"}, .values = {0, 0.1, 1e-4, 0.3}}));
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& study = plan->studies[0].definition;
  EXPECT_EQ(study.sampler, SamplerKind::kPoints);
  EXPECT_THAT(study.ParameterNames(), ElementsAre("weight_decay", "learning_rate"));
  EXPECT_THAT(MakeSampler(study, std::nullopt).At(1, {}).parameters, ElementsAre(1e-4, 0.3));
  EXPECT_EQ(plan->studies[0].strands[0].wanted, 2);
  EXPECT_EQ(plan->studies[0].strands[0].max_trials, 2) << "nothing beyond the points";
}

TEST(PlanPointsTest, APointWithABatchSizeBelongsToThatStudyOnly) {
  const auto plan =
      PlanSweep(PointsSpecOf({.names = {"learning_rate"}, .values = {0.1, 0.2, 0.3}, .batch_sizes = {0, 512, 32}}));
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->studies[0].definition.points, ElementsAre(0.1, 0.3));
  EXPECT_THAT(plan->studies[1].definition.points, ElementsAre(0.1, 0.2));
  EXPECT_NE(plan->studies[0].space_hash, plan->studies[1].space_hash);
}

TEST(PlanPointsTest, SaysWhichPointIsWrong) {
  struct Case {
    PointsSpec points;
    const char* field;
    const char* message;
  };
  const Case rows[] = {
      {{}, "search.points", "is required"},
      {{.names = {"learning_rate", "weight_decay"}, .values = {1, 2, 3}}, "search.points", "no whole number of points"},
      {{.names = {"learning_rate"}, .values = {1, 2}, .batch_sizes = {32}}, "search.points", "1 batch sizes for 2"},
      {{.names = {"learning_rate", "learning_rate"}, .values = {1, 2}}, "search.points[0].learning_rate", "twice"},
      {{.names = {"momentum"}, .values = {1}}, "search.points[0].momentum", "optimizer sgd has no momentum"},
      {{.names = {"weight_decay"}, .values = {1}}, "search.points", "has no learning_rate"},
      {{.names = {"learning_rate"}, .values = {1, 0}}, "search.points[1].learning_rate", "0 is outside (0, inf)"},
      {{.names = {"learning_rate"}, .values = {1, kInf}}, "search.points[1].learning_rate", "beyond"},
      {{.names = {"learning_rate"}, .values = {1, 2}, .batch_sizes = {32, 64}},
       "search.points[1].batch_size",
       "64 is no batch size of this sweep"},
      {{.names = {"learning_rate"}, .values = {1, 2}, .batch_sizes = {32, 32}},
       "search.points",
       "no point for batch size 512"},
  };
  for (const Case& row : rows) {
    ExpectRefused(PointsSpecOf(row.points), {"", [](SweepSpec&) {}, row.field, row.message});
  }
}

}  // namespace
}  // namespace stepcurve
