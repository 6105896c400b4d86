// SPDX-License-Identifier: Apache-2.0
#include "server/store/curve_store.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/api/measured_sweeps.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kAddress[] = "quadratic/noisy_quadratic_100/sgd";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const TrialSelection kComplete{.states = {TrialState::kComplete}};
const Goal kGoal{"val/loss", Goal::Comparison::kLess, 0.1};

class CurveStoreTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    ASSERT_NE(database_, nullptr);
    curves_ = std::make_unique<CurveStore>(database_.get());
    data_ = std::make_unique<MeasuredSweeps>(database_.get());
    sweep_ = data_->Sweep({.name = "one"});
    study_ = data_->Study(sweep_, QuadraticStudy(8), 10);
  }

  std::vector<CurveStudy> Studies() {
    auto studies = curves_->Studies(kAddress);
    EXPECT_THAT(studies, IsOk());
    return *studies;
  }

  // As a server that has just started.
  void Forget() { curves_ = std::make_unique<CurveStore>(database_.get()); }

  // First crossing of kGoal as "step by number", "" for none.
  std::string Answer(const TrialSelection& selection, int rank = 1) {
    const auto envelopes = curves_->Envelopes(Studies(), selection, "val/loss", false);
    EXPECT_THAT(envelopes, IsOk());
    const std::optional<Crossing> crossing = FindCrossing(*envelopes->at(0), kGoal, rank);
    return crossing.has_value() ? std::to_string(crossing->step) + " by " + std::to_string(crossing->number) : "";
  }

  std::unique_ptr<CurveStore> curves_;
  std::unique_ptr<MeasuredSweeps> data_;
  int64_t sweep_ = 0;
  int64_t study_ = 0;
};

TEST_F(CurveStoreTest, StudiesCarryCountsAndWhatTheirSweepIs) {
  data_->Trial(study_, Losses({0, 10}, {1, 0.5}));
  data_->Trial(study_, Losses({0}, {1}, TrialState::kInfeasible));
  const int64_t child = data_->Sweep({.name = "one.repeat-1", .semantics = Semantics::kReached, .parent = sweep_});
  data_->Study(child, QuadraticStudy(4));
  const std::vector<CurveStudy> studies = Studies();
  ASSERT_THAT(studies, SizeIs(2));
  EXPECT_TRUE(studies[0].child);
  EXPECT_EQ(studies[0].semantics, Semantics::kReached);
  EXPECT_EQ(studies[0].definition, QuadraticStudy(4));
  EXPECT_FALSE(studies[1].child);
  EXPECT_EQ(studies[1].sweep_name, "one");
  EXPECT_EQ(studies[1].counts[TrialState::kComplete], 1);
  EXPECT_EQ(studies[1].counts[TrialState::kInfeasible], 1);
  EXPECT_EQ(studies[1].wanted, 10);
  EXPECT_EQ(studies[1].results_version, 2);
}

TEST_F(CurveStoreTest, ADeletedSweepAnswersNothing) {
  Sql("UPDATE sweeps SET deleted_at = now()");
  EXPECT_THAT(Studies(), IsEmpty());
  EXPECT_THAT(*curves_->Addresses(), IsEmpty());
}

TEST_F(CurveStoreTest, ACancelledSweepHasNothingOpen) {
  data_->Trial(study_, {.state = TrialState::kQueued});
  Sql("UPDATE sweeps SET state = 'cancelled'");
  const std::vector<CurveStudy> studies = Studies();
  EXPECT_EQ(studies[0].counts.open(), 0);
  EXPECT_EQ(studies[0].counts[TrialState::kCancelled], 1);
}

TEST_F(CurveStoreTest, OnlyAdmittedTrialsAreInThePool) {
  data_->Trial(study_, Losses({0, 10, 20}, {1, 0.05, 3}, TrialState::kInfeasible));
  data_->Trial(study_, Losses({0, 10, 20, 30}, {1, 0.5, 0.05, 0.05}, TrialState::kFailed));
  data_->Trial(study_, Losses({0, 10, 20, 30}, {1, 0.5, 0.5, 0.05}));
  EXPECT_EQ(Answer(kComplete), "30 by 3");
  EXPECT_EQ(Answer({.states = {TrialState::kComplete, TrialState::kInfeasible}}), "10 by 1");
  EXPECT_EQ(Answer({.states = {TrialState::kComplete, TrialState::kFailed}}), "20 by 2");
  EXPECT_EQ(Answer(kComplete, 2), "");
}

TEST_F(CurveStoreTest, TheFirstNAreTheLowestAdmittedNumbers) {
  data_->Trial(study_, Losses({0, 10}, {1, 0.01}, TrialState::kInfeasible));
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}));
  data_->Trial(study_, Losses({0, 20}, {1, 0.05}));
  data_->Trial(study_, Losses({0, 10}, {1, 0.05}));
  EXPECT_EQ(Answer({.states = {TrialState::kComplete}, .first = 1}), "30 by 2");
  EXPECT_EQ(Answer({.states = {TrialState::kComplete}, .first = 2}), "20 by 3");
  EXPECT_EQ(Answer({.states = {TrialState::kComplete}, .first = 2}, 2), "30 by 2");
  EXPECT_EQ(Answer(kComplete), "10 by 4");
}

TEST_F(CurveStoreTest, EnvelopesAreKeptUntilResultsChange) {
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}));
  EXPECT_EQ(Answer(kComplete), "30 by 1");
  EXPECT_EQ(Number("SELECT count(*) FROM envelopes"), 1);
  // What is kept answers: without its records and chunks the study would have none.
  Sql("DELETE FROM records; DELETE FROM chunks");
  Forget();
  EXPECT_EQ(Answer(kComplete), "30 by 1");  // From the table.
  Sql("DELETE FROM envelopes");
  EXPECT_EQ(Answer(kComplete), "30 by 1");  // From memory.
  data_->Trial(study_, Losses({0, 20}, {1, 0.05}));
  EXPECT_EQ(Answer(kComplete), "20 by 2");
  Forget();
  EXPECT_EQ(Answer(kComplete), "20 by 2");
  EXPECT_EQ(Number("SELECT count(DISTINCT results_version) FROM envelopes"), 1);
}

TEST_F(CurveStoreTest, AnotherServersResultsAreSeen) {
  CurveStore other(database_.get());
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}));
  EXPECT_EQ(Answer(kComplete), "30 by 1");
  ASSERT_THAT(other.Envelopes(*other.Studies(kAddress), kComplete, "val/loss", false), IsOk());
  data_->Trial(study_, Losses({0, 20}, {1, 0.05}));
  ASSERT_THAT(other.Envelopes(*other.Studies(kAddress), kComplete, "val/loss", false), IsOk());
  EXPECT_EQ(Answer(kComplete), "20 by 2");
}

TEST_F(CurveStoreTest, SelectionsMetricsAndDirectionsAreKeptApart) {
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}));
  data_->Trial(study_, Losses({0, 20}, {1, 0.05}, TrialState::kInfeasible));
  const TrialSelection both{.states = {TrialState::kComplete, TrialState::kInfeasible}};
  for (int round = 0; round < 2; ++round) {
    Forget();
    EXPECT_EQ(Answer(kComplete), "30 by 1");
    EXPECT_EQ(Answer(both), "20 by 2");
    EXPECT_EQ(Answer(kComplete), "30 by 1");
    const auto rising = curves_->Envelopes(Studies(), kComplete, "test/loss", true);
    ASSERT_THAT(rising, IsOk());
    EXPECT_THAT(rising->at(0)->layers.at(0).values, ElementsAre(2));
  }
}

TEST_F(CurveStoreTest, AnEmptyPoolIsRememberedToo) {
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}, TrialState::kFailed));
  EXPECT_EQ(Answer(kComplete), "");
  EXPECT_EQ(Number("SELECT count(*) FROM envelopes"), 1);
  Forget();
  EXPECT_EQ(Answer(kComplete), "");
}

TEST(EnvelopeCacheTest, HoldsTheLatestUsedOfOneVersionEach) {
  const auto envelope = std::make_shared<const Envelope>();
  EnvelopeCache cache(900);  // Three small ones.
  cache.Put("a", 1, envelope);
  cache.Put("b", 1, envelope);
  cache.Put("c", 1, envelope);
  EXPECT_EQ(cache.Find("a", 1), envelope);
  EXPECT_EQ(cache.Find("a", 2), nullptr);
  cache.Put("d", 1, envelope);  // "b" is the one not asked for.
  EXPECT_EQ(cache.Find("b", 1), nullptr);
  EXPECT_EQ(cache.Find("a", 1), envelope);
  cache.Put("a", 2, envelope);
  EXPECT_EQ(cache.Find("a", 1), nullptr);
  EXPECT_EQ(cache.Find("a", 2), envelope);
  EXPECT_EQ(cache.Find("c", 1), envelope);
  EXPECT_EQ(cache.Find("d", 1), envelope);
  const auto huge =
      std::make_shared<const Envelope>(Envelope{.layers = {EnvelopeLayer{.steps = std::vector<int64_t>(1000)}}});
  cache.Put("e", 1, huge);
  EXPECT_EQ(cache.Find("e", 1), nullptr);
  EXPECT_EQ(cache.Find("a", 2), envelope);
}

TEST_F(CurveStoreTest, AStudyWithoutTheMetricHasNoAnswer) {
  const auto envelopes = curves_->Envelopes(Studies(), kComplete, "val/accuracy", false);
  ASSERT_THAT(envelopes, IsOk());
  EXPECT_THAT(envelopes->at(0)->layers, IsEmpty());
}

TEST_F(CurveStoreTest, RunningTrialsAreSummarisedAndNeverKept) {
  data_->Trial(study_, Losses({0, 30}, {1, 0.05}));
  const int64_t running = data_->Trial(study_, Losses({0, 10, 20}, {1, 0.5, 0.05}, TrialState::kRunning));
  const TrialSelection live{.states = {TrialState::kRunning, TrialState::kComplete}};
  EXPECT_EQ(Answer(live), "20 by 2");
  EXPECT_EQ(Number("SELECT count(*) FROM envelopes"), 0);
  // A later attempt that starts over supersedes what the first measured.
  Sql("INSERT INTO past_attempts (trial_id, attempt, session_id, base_step, last_step, start_time, outcome)"
      " SELECT id, 1, session_id, -1, 20, now(), 'released' FROM trials WHERE id = " +
      std::to_string(running) +
      "; UPDATE trials SET attempt = 2, base_step = -1, last_step = -1 WHERE id = " + std::to_string(running));
  EXPECT_EQ(Answer(live), "30 by 1");
}

TEST_F(CurveStoreTest, NanIsNeverPastAGoal) {
  data_->Trial(study_, Losses({0, 10, 20}, {kNan, kNan, 0.05}));
  data_->Trial(study_, Losses({0, 10}, {kNan, kNan}));
  EXPECT_EQ(Answer(kComplete), "20 by 1");
  EXPECT_EQ(Answer(kComplete, 2), "");
}

TEST_F(CurveStoreTest, WinnersCarryTheTestValueAndTheNextEvaluation) {
  std::vector<int64_t> steps;
  std::vector<double> losses;
  for (int64_t p = 0; p < 1500; ++p) {
    steps.push_back(10 * p);
    losses.push_back(1.0 / static_cast<double>(p + 1));
  }
  MeasuredTrial trial = Losses(steps, losses);
  trial.parameters = {0.25};
  trial.coordinates = {0.5};
  const int64_t id = data_->Trial(study_, trial);
  const auto winners = curves_->Winners({
      {.trial = id, .step = 1000, .metric = 0, .test_metric = 1},
      {.trial = id, .step = 10230, .metric = 0, .test_metric = 1},  // Last of its chunk.
      {.trial = id, .step = 14990, .metric = 1},                    // The very last; no test split asked for.
  });
  ASSERT_THAT(winners, IsOk());
  ASSERT_THAT(*winners, SizeIs(3));
  EXPECT_THAT(winners->at(0).parameters, ElementsAre(0.25));
  EXPECT_THAT(winners->at(0).coordinates, ElementsAre(0.5));
  EXPECT_EQ(winners->at(0).test_value, 1.0 / 101 + 1);
  EXPECT_EQ(winners->at(0).next_value, 1.0 / 102);
  EXPECT_EQ(winners->at(1).test_value, 1.0 / 1024 + 1);
  EXPECT_EQ(winners->at(1).next_value, 1.0 / 1025);
  EXPECT_EQ(winners->at(2).test_value, std::nullopt);
  EXPECT_EQ(winners->at(2).next_value, std::nullopt);
}

TEST_F(CurveStoreTest, BestsAreTheEndsOfTheStaircases) {
  const int64_t trial = data_->Trial(study_, Losses({0, 10, 20, 30}, {1, 0.25, 2, 0.5}));
  const int64_t blind = data_->Trial(study_, Losses({0, 10}, {kNan, kNan}));
  const int64_t running = data_->Trial(study_, Losses({0}, {1}, TrialState::kRunning));
  const auto bests = curves_->Bests({trial, blind, running});
  ASSERT_THAT(bests, IsOk());
  ASSERT_THAT(*bests, SizeIs(2));
  ASSERT_THAT(bests->at(trial), SizeIs(4));
  EXPECT_EQ(bests->at(trial)[0]->value, 0.25);
  EXPECT_EQ(bests->at(trial)[0]->step, 10);
  EXPECT_EQ(bests->at(trial)[1]->value, 2);
  EXPECT_EQ(bests->at(trial)[3]->value, 3);
  for (const auto& best : bests->at(blind)) EXPECT_FALSE(best.has_value());
  const auto stairs = curves_->Staircases({trial, blind, running}, 0, false);
  ASSERT_THAT(stairs, IsOk());
  EXPECT_THAT(stairs->at(trial).steps, ElementsAre(0, 10));
  EXPECT_THAT(stairs->at(blind).steps, IsEmpty());
}

}  // namespace
}  // namespace stepcurve
