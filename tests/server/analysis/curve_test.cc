// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/curve.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Certainty = PointAnswer::Certainty;
using Status = PointAnswer::Status;

const Goal kGoal{"val/loss", Goal::Comparison::kLess, 0.1};

// An envelope of trials that each cross kGoal at one step.
Envelope Crossings(const std::vector<int64_t>& steps) {
  std::vector<Staircase> stairs(steps.size());
  std::vector<PooledTrial> pool;
  for (size_t i = 0; i < steps.size(); ++i) {
    stairs[i].Add(0, 1.0, false);
    if (steps[i] >= 0) stairs[i].Add(steps[i], 0.05, false);
    pool.push_back({static_cast<int64_t>(100 + i), static_cast<int64_t>(1 + i), &stairs[i]});
  }
  return BuildEnvelope(pool, false);
}

PooledStudy StudyOf(const Envelope& envelope, int64_t admitted) {
  return {.study = 7,
          .envelope = &envelope,
          .admitted = admitted,
          .wanted = admitted,
          .ended = admitted,
          .budget_steps = 1000,
          .grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 10}};
}

struct Case {
  std::string name;
  std::vector<int64_t> crossings;  // Step per admitted trial; -1 never.
  int64_t open = 0;
  int64_t first_trials = 0;
  Status status;
  Certainty certainty;
  int64_t steps = 0;
  int64_t previous = -1;
  std::vector<int64_t> rank_steps;
};

class AnswerPointTest : public ::testing::TestWithParam<Case> {};

TEST_P(AnswerPointTest, SaysWhetherAndWhenTheGoalWasReached) {
  const Case& c = GetParam();
  const Envelope envelope = Crossings(c.crossings);
  PooledStudy study = StudyOf(envelope, static_cast<int64_t>(c.crossings.size()));
  study.open = c.open;
  const PointAnswer answer = AnswerPoint({study}, kGoal, c.first_trials);
  EXPECT_EQ(answer.status, c.status);
  EXPECT_EQ(answer.certainty, c.certainty);
  EXPECT_EQ(answer.winner.step, c.steps);
  EXPECT_EQ(answer.previous_step, c.previous);
  EXPECT_EQ(answer.rank_steps, c.rank_steps);
}

INSTANTIATE_TEST_SUITE_P(
    All, AnswerPointTest,
    ::testing::Values(
        Case{"Reached", {300, 250, -1}, 0, 0, Status::kReached, Certainty::kFinal, 250, 240, {300, -1}},
        Case{"OneTrial", {250}, 0, 0, Status::kReached, Certainty::kFinal, 250, 240, {}},
        Case{"RanksStopAtFive", {6, 5, 4, 3, 2, 1}, 0, 0, Status::kReached, Certainty::kFinal, 1, 0, {2, 3, 4, 5}},
        Case{"NotReached", {-1, -1}, 0, 0, Status::kNotReached, Certainty::kFinal, 0, -1, {-1}},
        Case{"AtStepZero", {0}, 0, 0, Status::kReached, Certainty::kFinal, 0, -1, {}},
        Case{"Provisional", {250, 300}, 1, 0, Status::kReached, Certainty::kProvisional, 250, 240, {300}},
        Case{"NotReachedYet", {-1}, 3, 0, Status::kNotReached, Certainty::kProvisional, 0, -1, {}},
        Case{"NoTrials", {}, 0, 0, Status::kNoTrials, Certainty::kFinal, 0, -1, {}},
        Case{"NoTrialsYet", {}, 5, 0, Status::kNoTrials, Certainty::kProvisional, 0, -1, {}},
        Case{"TooFew", {250, 300}, 0, 3, Status::kTooFew, Certainty::kFinal, 0, -1, {}},
        Case{"JustEnough", {250, 300}, 0, 2, Status::kReached, Certainty::kFinal, 250, 240, {300}}),
    [](const auto& info) { return info.param.name; });

TEST(AnswerPointTest, PooledStudiesGiveTheFirstOverAll) {
  const Envelope first = Crossings({300, 500, -1});
  const Envelope second = Crossings({400, 300, 200});
  const PooledStudy studies[] = {StudyOf(first, 3), StudyOf(second, 3)};
  const PointAnswer answer = AnswerPoint(studies, kGoal, 0);
  EXPECT_EQ(answer.study, 1u);
  EXPECT_EQ(answer.winner.step, 200);
  EXPECT_EQ(answer.winner.number, 3);
  EXPECT_THAT(answer.rank_steps, ElementsAre(300, 300, 400, 500));
  EXPECT_EQ(answer.admitted, 6);
}

TEST(AnswerPointTest, FinalPointsBoundTheirSteps) {
  const Envelope envelope = Crossings({250});
  PooledStudy study = StudyOf(envelope, 1);
  EXPECT_EQ(AnswerPoint({study}, kGoal, 0).steps_at_least, 250);
  study.open = 1;
  EXPECT_EQ(AnswerPoint({study}, kGoal, 0).steps_at_least, 0);
}

struct GridCase {
  std::string name;
  EvaluationGrid grid;
  int64_t every;
  int64_t step;
  int64_t previous;
};

class PreviousEvaluationTest : public ::testing::TestWithParam<GridCase> {};

TEST_P(PreviousEvaluationTest, IsTheLastBefore) {
  const GridCase& c = GetParam();
  EXPECT_EQ(PreviousEvaluation(c.grid, 1000, c.every, c.step), c.previous);
}

const EvaluationGrid kTens{.kind = EvaluationGrid::Kind::kEvery, .every = 10};
const EvaluationGrid kDoubling{.kind = EvaluationGrid::Kind::kGeometric, .ratio_millionths = 2'000'000, .first = 3};
const EvaluationGrid kAtSome{.kind = EvaluationGrid::Kind::kAt, .at = {5, 70, 71}};

INSTANTIATE_TEST_SUITE_P(All, PreviousEvaluationTest,
                         ::testing::Values(GridCase{"StepZero", kTens, 1, 0, -1},        //
                                           GridCase{"First", kTens, 1, 10, 0},           //
                                           GridCase{"Later", kTens, 1, 50, 40},          //
                                           GridCase{"Budget", kTens, 1, 1000, 990},      //
                                           GridCase{"EveryThird", kTens, 3, 60, 30},     //
                                           GridCase{"Geometric", kDoubling, 1, 24, 12},  //
                                           GridCase{"FirstOfGeometric", kDoubling, 1, 3, 0},
                                           GridCase{"BudgetOfGeometric", kDoubling, 1, 1000, 768},
                                           GridCase{"AtSteps", kAtSome, 1, 71, 70},
                                           GridCase{"BudgetAfterAt", kAtSome, 1, 1000, 71}),
                         [](const auto& info) { return info.param.name; });

std::vector<std::string> Codes(const std::vector<PointWarning>& warnings) {
  std::vector<std::string> codes;
  for (const PointWarning& warning : warnings) codes.push_back(warning.code);
  return codes;
}

struct WarningCase {
  std::string name;
  std::vector<int64_t> crossings;
  WinnerFacts facts;
  int64_t infeasible = 0;
  int64_t missing = 0;  // Trials wanted beyond those admitted.
  int64_t open = 0;
  int64_t first_trials = 0;
  std::vector<std::string> codes;
};

class PointWarningsTest : public ::testing::TestWithParam<WarningCase> {};

TEST_P(PointWarningsTest, NamesWhatToDoubt) {
  const WarningCase& c = GetParam();
  const Envelope envelope = Crossings(c.crossings);
  PooledStudy study = StudyOf(envelope, static_cast<int64_t>(c.crossings.size()));
  study.infeasible = c.infeasible;
  study.ended += c.infeasible;
  study.wanted += c.missing;
  study.open = c.open;
  const PointAnswer answer = AnswerPoint({study}, kGoal, c.first_trials);
  EXPECT_EQ(Codes(PointWarnings({study}, kGoal, c.first_trials, answer, c.facts)), c.codes);
}

INSTANTIATE_TEST_SUITE_P(
    All, PointWarningsTest,
    ::testing::Values(
        WarningCase{"None", {500, 510}, {{{"learning_rate", 0.5}}, 0.04}, 0, 0, 0, 0, {}},
        WarningCase{"EdgeHigh", {500, 510}, {{{"learning_rate", 0.95}}}, 0, 0, 0, 0, {"edge:learning_rate:high"}},
        WarningCase{"EdgeLow", {500, 510}, {{{"a", 0.06}, {"momentum", 0.05}}}, 0, 0, 0, 0, {"edge:momentum:low"}},
        WarningCase{"NotQuiteTheEdge", {500, 510}, {{{"a", 0.0501}, {"b", 0.9499}}}, 0, 0, 0, 0, {}},
        WarningCase{"LastQuarter", {760, 770}, {}, 0, 0, 0, 0, {"budget"}},
        WarningCase{"ThreeQuartersIsFine", {750, 760}, {}, 0, 0, 0, 0, {}},
        WarningCase{"WideBracket", {90, 100}, {}, 0, 0, 0, 0, {"grid"}},
        WarningCase{"TenPercentIsFine", {100, 110}, {}, 0, 0, 0, 0, {}},
        WarningCase{"NextIsBack", {500, 510}, {{}, 0.1}, 0, 0, 0, 0, {"once"}},
        WarningCase{"SecondLate", {200, 301}, {}, 0, 0, 0, 0, {"alone"}},
        WarningCase{"SecondJustInTime", {200, 300}, {}, 0, 0, 0, 0, {}},
        WarningCase{"SecondNever", {200, -1}, {}, 0, 0, 0, 0, {"alone"}},
        WarningCase{"MostDiverged", {200, 210}, {}, 3, 0, 0, 0, {"infeasible"}},
        WarningCase{"HalfDiverged", {200, 210}, {}, 2, 0, 0, 0, {}},
        WarningCase{"AllDiverged", {}, {}, 4, 0, 0, 0, {"infeasible"}},
        WarningCase{"Few", {200, 210}, {}, 0, 1, 0, 0, {"few"}},
        WarningCase{"FewSoFar", {200, 210}, {}, 0, 1, 1, 0, {}},
        WarningCase{"FewerThanWantedWasAsked", {200, 210}, {}, 0, 1, 0, 2, {}},
        WarningCase{"StepZero", {0, 0}, {}, 0, 0, 0, 0, {"step-zero"}},
        WarningCase{"NotReached", {-1, -1}, {{{"a", 0.0}}, 5.0}, 0, 0, 0, 0, {}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
