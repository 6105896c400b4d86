// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_sweep.h"

#include <cmath>

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(PlanSweepTest, ResolvesAStudyPerWorkloadAndBatchSize) {
  const auto plan = PlanSweep(GoodSpec());
  ASSERT_THAT(plan, IsOk());
  ASSERT_EQ(plan->studies.size(), 4u);
  const StudyDefinition& first = plan->studies[0].definition;
  EXPECT_EQ(WorkloadAddress(first.workload), "mnist/fc_64/sgd");
  EXPECT_EQ(first.batch_size, 32);
  EXPECT_EQ(first.training_examples, 55'000);
  EXPECT_EQ(first.budget_steps, 1000);
  EXPECT_THAT(first.ParameterNames(), ElementsAre("learning_rate"));
  EXPECT_EQ(first.grid,
            (EvaluationGrid{.kind = EvaluationGrid::Kind::kGeometric, .ratio_millionths = 1'050'000, .first = 2}));
  EXPECT_EQ(first.train_examples, 10'000);
  EXPECT_EQ(first.goals.size(), 1u);
  EXPECT_EQ(first.semantics, Semantics::kPublished);
  EXPECT_EQ(first.needs.memory_bytes, int64_t{256} << 20);
  const StudyDefinition& last = plan->studies[3].definition;
  EXPECT_EQ(WorkloadAddress(last.workload), "mnist/fc_64/momentum");
  EXPECT_EQ(last.batch_size, 512);
  EXPECT_THAT(last.ParameterNames(), ElementsAre("learning_rate", "momentum"));
  for (const StudyPlan& study : plan->studies) {
    ASSERT_EQ(study.strands.size(), 1u);
    EXPECT_EQ(study.strands[0].wanted, 10);
    EXPECT_EQ(study.strands[0].initial, 10);
    EXPECT_EQ(study.strands[0].max_trials, 100);
    EXPECT_EQ(study.space_hash.size(), 16u);
  }
  EXPECT_EQ(plan->studies[0].space_hash, plan->studies[1].space_hash) << "the same space at both batch sizes";
  EXPECT_NE(plan->studies[0].space_hash, plan->studies[2].space_hash);
  EXPECT_EQ(plan->wanted(), 40);
  EXPECT_EQ(plan->max_trials(), 400);
  EXPECT_THAT(plan->goals, ElementsAre("val/classification_error < 0.1"));
}

TEST(PlanSweepTest, ResolvedIsYamlOfEveryDistinctStudy) {
  const auto plan = PlanSweep(GoodSpec());
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->resolved,
              HasSubstr("- workload: mnist/fc_64/sgd\n  batch_sizes: [32, 512]\n  budget: {steps: 1000}\n"));
  EXPECT_THAT(plan->resolved, HasSubstr("    momentum: {min: 0.9, max: 0.9999, scale: reverse_log}\n"));
  EXPECT_THAT(plan->resolved, HasSubstr("  evaluation: {geometric: 1.05, from: 2, train_examples: 10000}\n"));
}

TEST(PlanSweepTest, ResolvedTellsBatchSizesApartThatDiffer) {
  SweepSpec spec = SgdSpec();
  spec.batch_sizes->sizes = {100, 200, 400};
  spec.budget = BudgetSpec{.epochs = 2, .at_least = 300};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->resolved, StartsWith("- workload: mnist/fc_64/sgd\n  batch_size: 100\n  budget: {steps: 1100}\n"));
  EXPECT_THAT(plan->resolved, HasSubstr("- workload: mnist/fc_64/sgd\n  batch_size: 200\n  budget: {steps: 550}\n"));
  EXPECT_THAT(plan->resolved, HasSubstr("- workload: mnist/fc_64/sgd\n  batch_size: 400\n  budget: {steps: 300}\n"));
}

TEST(PlanSweepTest, SemanticsArePublishedUnlessTheFileSaysOtherwise) {
  SweepSpec spec = GoodSpec();
  spec.stop.semantics = "reached";
  spec.stop.exact = false;
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->semantics, Semantics::kReached);
  EXPECT_EQ(plan->studies[0].definition.semantics, Semantics::kReached);
}

TEST(PlanSweepTest, QuadraticTakesAnyBatchSizeAndHasNoEpochs) {
  SweepSpec spec = QuadraticSpec();
  spec.batch_sizes->sizes = {4, int64_t{1} << 40};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& study = plan->studies[1].definition;
  EXPECT_EQ(study.batch_size, int64_t{1} << 40);
  EXPECT_EQ(study.training_examples, 0);
  EXPECT_EQ(study.train_examples, 0);
  EXPECT_THAT(study.metrics, ElementsAre("train/loss", "val/loss"));
  EXPECT_EQ(study.checkpoint_every, absl::ZeroDuration());
  EXPECT_EQ(study.needs.memory_bytes, 0);
}

// The sweep whose answers are known: 100 rates from 1e-5 to 10^0.5, every step evaluated.
TEST(PlanSweepTest, TheKnownSweepOfTheQuadratic) {
  SweepSpec spec = QuadraticSpec();
  spec.batch_sizes->sizes = {256, 1024, 65536};
  spec.search = SearchSpec{.sampler = "points", .top_up = false, .points = PointsSpec{.names = {"learning_rate"}}};
  for (int i = 0; i < 100; ++i) spec.search.points->values.push_back(std::pow(10, -5 + 5.5 * i / 99));
  spec.budget = BudgetSpec{.per_batch_size = {{256, 27000}, {1024, 11000}, {65536, 7500}}};
  spec.evaluation.every = 1;
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  ASSERT_EQ(plan->studies.size(), 3u);
  EXPECT_EQ(plan->wanted(), 300);
  EXPECT_EQ(plan->max_trials(), 300);
  const StudyDefinition& study = plan->studies[1].definition;
  EXPECT_EQ(study.budget_steps, 11000);
  EXPECT_EQ(CountEvaluations(study.grid, study.budget_steps), 11001);
  const std::vector<NewTrial> trials = NewTrials(study, MakeSampler(study, std::nullopt), 0, 100, 1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(trials[i].point.parameters[0], spec.search.points->values[i]) << "bit for bit";
  }
}

class HeadTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(HeadTest, IsRefused) { ExpectRefused(GoodSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, HeadTest,
    ::testing::Values(
        RefusedCase{"NoName", [](SweepSpec& s) { s.name = ""; }, "name", "must start with a letter"},
        RefusedCase{"NumberAsName", [](SweepSpec& s) { s.name = "12"; }, "name", "\"12\" must start with a letter"},
        RefusedCase{"UpperCaseName", [](SweepSpec& s) { s.name = "aB"; }, "name", "[a-z0-9._-]"},
        RefusedCase{"LongName", [](SweepSpec& s) { s.name = std::string(64, 'a'); }, "name", "1 to 63"},
        RefusedCase{"LongDescription", [](SweepSpec& s) { s.description = std::string(4097, 'x'); }, "description",
                    "4097"},
        RefusedCase{"ZeroInDescription", [](SweepSpec& s) { s.description = std::string("a\0b", 3); }, "description",
                    "zero"},
        RefusedCase{"BadTag",
                    [](SweepSpec& s) {
                      s.tags = {"ok", "not ok"};
                    },
                    "tags[1]", "\"not ok\""},
        RefusedCase{"PriorityAbove", [](SweepSpec& s) { s.priority = 1001; }, "priority", "1001"},
        RefusedCase{"PriorityBelow", [](SweepSpec& s) { s.priority = -1001; }, "priority", "-1001"},
        RefusedCase{"NoRoomToRun", [](SweepSpec& s) { s.max_running = 0; }, "max_running", "at least 1"},
        RefusedCase{"OtherVersion", [](SweepSpec& s) { s.version = 2; }, "version", "version 1"},
        RefusedCase{"ExactStop", [](SweepSpec& s) { s.stop.exact = true; }, "stop.exact",
                    "not available in this version"},
        RefusedCase{"UnknownSemantics", [](SweepSpec& s) { s.stop.semantics = "reach"; }, "stop.semantics", "reached"},
        RefusedCase{"KeepNone", [](SweepSpec& s) { s.stop.keep = 0; }, "stop.keep", "1 to 10"},
        RefusedCase{"KeepEleven", [](SweepSpec& s) { s.stop.keep = 11; }, "stop.keep", "1 to 10"},
        RefusedCase{"KeepAboveTrials", [](SweepSpec& s) { s.stop.keep = 5, s.search.trials = 4; }, "stop.keep",
                    "above trials (4)"},
        RefusedCase{"UnknownSchedule", [](SweepSpec& s) { s.training.schedule = "liner"; }, "training.schedule",
                    "linear"},
        RefusedCase{"ScheduleOfALaterVersion", [](SweepSpec& s) { s.training.schedule = "cosine"; },
                    "training.schedule", "unknown schedule \"cosine\""},
        RefusedCase{"Precision", [](SweepSpec& s) { s.training.precision = "bfloat16"; }, "training.precision",
                    "float32"},
        RefusedCase{"Device", [](SweepSpec& s) { s.resources.device = "gpu"; }, "resources.device", "cpu"},
        RefusedCase{"NoDevices", [](SweepSpec& s) { s.resources.devices = 0; }, "resources.devices", "at least 1"},
        RefusedCase{"NegativeMemory", [](SweepSpec& s) { s.resources.memory_bytes = -1; }, "resources.memory", "-1"},
        RefusedCase{"CheckpointTwice",
                    [](SweepSpec& s) { s.checkpoint = {.every = absl::Minutes(1), .every_steps = 5}; }, "checkpoint",
                    "both"},
        RefusedCase{"CheckpointAlways", [](SweepSpec& s) { s.checkpoint.every = absl::ZeroDuration(); },
                    "checkpoint.every", "above 0"}),
    CaseName);

TEST(PlanSweepTest, QuadraticHasOneSchedule) {
  ExpectRefused(QuadraticSpec(), {"", [](SweepSpec& s) { s.training.schedule = "linear"; }, "training.schedule",
                                  "quadratic has the schedule constant only"});
}

}  // namespace
}  // namespace stepcurve
