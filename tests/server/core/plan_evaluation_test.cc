// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_evaluation.h"

#include <cmath>

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Kind = EvaluationGrid::Kind;

StudyDefinition Study(const EvaluationSpec& evaluation) {
  SweepSpec spec = SgdSpec();
  spec.evaluation = evaluation;
  spec.goals.clear();
  const auto plan = PlanSweep(spec);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? plan->studies[0].definition : StudyDefinition{};
}

// Batch size 100 of 55,000, budget 1,000.
TEST(PlanEvaluationTest, Grids) {
  struct Case {
    EvaluationSpec spec;
    EvaluationGrid grid;
  };
  const Case rows[] = {
      {{}, {.kind = Kind::kGeometric, .ratio_millionths = 1'050'000, .first = 2}},
      {{.geometric = 2}, {.kind = Kind::kGeometric, .ratio_millionths = 2'000'000, .first = 2}},
      {{.geometric = 1.000001, .from = 9}, {.kind = Kind::kGeometric, .ratio_millionths = 1'000'001, .first = 9}},
      {{.from = 5}, {.kind = Kind::kGeometric, .ratio_millionths = 1'050'000, .first = 5}},
      {{.every = 50}, {.kind = Kind::kEvery, .every = 50}},
      {{.epochs = 0.1}, {.kind = Kind::kEvery, .every = 55}},
      {{.epochs = 1e-5}, {.kind = Kind::kEvery, .every = 1}},
      {{.at = {100, 0, 7}}, {.kind = Kind::kAt, .at = {0, 7, 100}}},
  };
  for (const Case& row : rows) EXPECT_EQ(Study(row.spec).grid, row.grid) << DescribeGrid(row.grid);
}

TEST(PlanEvaluationTest, FirstStepIsTheBudgetsFiveHundredthRoundedUp) {
  for (const auto& [budget, first] : {std::pair<int64_t, int64_t>{1, 1}, {500, 1}, {501, 2}, {1000, 2}, {1001, 3}}) {
    SweepSpec spec = SgdSpec();
    spec.budget->steps = budget;
    const auto plan = PlanSweep(spec);
    ASSERT_THAT(plan, IsOk());
    EXPECT_EQ(plan->studies[0].definition.grid.first, first) << budget;
  }
}

TEST(PlanEvaluationTest, SplitsThatAreNotNamedAreNotMeasured) {
  const StudyDefinition study = Study({.splits = {{"test", 4}, {"val", 1}}});
  EXPECT_THAT(study.split_intervals, ElementsAre(Pair("val", 1), Pair("test", 4)));
  EXPECT_THAT(study.metrics, ElementsAre("val/classification_error", "val/cross_entropy_error",
                                         "test/classification_error", "test/cross_entropy_error"));
  EXPECT_EQ(Study({}).metrics.size(), 6u);
}

TEST(PlanEvaluationTest, TrainExamples) {
  EXPECT_EQ(Study({}).train_examples, 10'000);
  EXPECT_EQ(Study({.train_examples = 55'000}).train_examples, 55'000);
}

class EvaluationRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(EvaluationRefusedTest, Says) { ExpectRefused(SgdSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, EvaluationRefusedTest,
    ::testing::Values(
        RefusedCase{"TwoKinds", [](SweepSpec& s) { s.evaluation = {.geometric = 1.1, .every = 5}; }, "evaluation",
                    "more than one of geometric, every, epochs and at"},
        RefusedCase{"RatioOne", [](SweepSpec& s) { s.evaluation.geometric = 1; }, "evaluation.geometric",
                    "above 1 and at most 2"},
        RefusedCase{"RatioThree", [](SweepSpec& s) { s.evaluation.geometric = 3; }, "evaluation.geometric", "is 3"},
        RefusedCase{"RatioOfManyDigits", [](SweepSpec& s) { s.evaluation.geometric = 1.0 + 1e-7; },
                    "evaluation.geometric", "six decimals"},
        RefusedCase{"FromZero", [](SweepSpec& s) { s.evaluation.from = 0; }, "evaluation.from", "at least 1"},
        RefusedCase{"FromWithEvery", [](SweepSpec& s) { s.evaluation = {.from = 5, .every = 5}; }, "evaluation.from",
                    "geometric only"},
        RefusedCase{"EveryZero", [](SweepSpec& s) { s.evaluation.every = 0; }, "evaluation.every", "at least 1"},
        RefusedCase{"EveryNegative", [](SweepSpec& s) { s.evaluation.every = -1; }, "evaluation.every", "-1"},
        RefusedCase{"NoEpochs", [](SweepSpec& s) { s.evaluation.epochs = 0; }, "evaluation.epochs", "above 0"},
        RefusedCase{"ManyEpochs", [](SweepSpec& s) { s.evaluation.epochs = 1e300; }, "evaluation.epochs",
                    "more than 2^63 - 1"},
        RefusedCase{"NegativeStep",
                    [](SweepSpec& s) {
                      s.evaluation.at = {5, -1};
                    },
                    "evaluation.at", "-1 is no step"},
        RefusedCase{"StepTwice",
                    [](SweepSpec& s) {
                      s.evaluation.at = {5, 6, 5};
                    },
                    "evaluation.at", "5 is there twice"},
        RefusedCase{"UnknownSplit",
                    [](SweepSpec& s) {
                      s.evaluation.splits = {{"dev", 1}};
                    },
                    "evaluation.splits.dev", "has no split dev (it has train, val, test)"},
        RefusedCase{"NeverASplit",
                    [](SweepSpec& s) {
                      s.evaluation.splits = {{"val", 0}};
                    },
                    "evaluation.splits.val", "at least 1"},
        RefusedCase{"SplitTwice",
                    [](SweepSpec& s) {
                      s.evaluation.splits = {{"val", 1}, {"val", 2}};
                    },
                    "evaluation.splits.val", "twice"},
        RefusedCase{"NoTrainExamples", [](SweepSpec& s) { s.evaluation.train_examples = 0; },
                    "evaluation.train_examples", "1 to 55000"},
        RefusedCase{"MoreTrainExamplesThanThereAre", [](SweepSpec& s) { s.evaluation.train_examples = 55'001; },
                    "evaluation.train_examples", "1 to 55000"},
        RefusedCase{"NoComparison", [](SweepSpec& s) { s.goals = {"val/classification_error = 0.2"}; }, "goals[0]",
                    "has no <, <=, > or >="},
        RefusedCase{"NoNumber", [](SweepSpec& s) { s.goals = {"val/classification_error < abc"}; }, "goals[0]", "abc"},
        RefusedCase{"UnknownMetric", [](SweepSpec& s) { s.goals.push_back("val/accuracy > 0.9"); }, "goals[1]",
                    "mnist/fc_64/sgd does not measure val/accuracy (it measures train/classification_error, "},
        RefusedCase{"MetricOfAnotherTask", [](SweepSpec& s) { s.goals = {"val/loss < 0.01"}; }, "goals[0]", "val/loss"},
        RefusedCase{"MetricThatIsNotMeasured",
                    [](SweepSpec& s) {
                      s.evaluation.splits = {{"test", 1}};
                    },
                    "goals[0]", "does not measure val/classification_error"},
        RefusedCase{"GoalTwice", [](SweepSpec& s) { s.goals.push_back("val/classification_error<1e-1"); }, "goals[1]",
                    "twice"}),
    CaseName);

TEST(PlanEvaluationTest, TheQuadraticHasNoEpochsNoTestSplitAndNoExamples) {
  ExpectRefused(QuadraticSpec(),
                {"", [](SweepSpec& s) { s.evaluation.epochs = 1; }, "evaluation.epochs", "has no epochs"});
  ExpectRefused(QuadraticSpec(), {"",
                                  [](SweepSpec& s) {
                                    s.evaluation.splits = {{"test", 1}};
                                  },
                                  "evaluation.splits.test", "it has train, val"});
  ExpectRefused(QuadraticSpec(), {"", [](SweepSpec& s) { s.evaluation.train_examples = 1; },
                                  "evaluation.train_examples", "has no examples"});
}

}  // namespace
}  // namespace stepcurve
