// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/attempt_table.h"

#include <functional>
#include <limits>
#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kSession = 42;
constexpr int64_t kBudget = 100;

// Trial 7 attempt 2 of sweep 5: two metrics, 100 steps.
AttemptTable TableOfOne() {
  StudyDefinition study;
  study.metrics = {"val/loss", "test/loss"};
  study.budget_steps = kBudget;
  AttemptTable table(kSession);
  table.Hold({.trial = 7, .attempt = 2, .sweep = 5}, study);
  return table;
}

v1::Report& AddReport(v1::WorkerMessage& message, int64_t first, int values) {
  v1::Report& report = *message.add_reports();
  report.set_trial(7);
  report.set_attempt(2);
  report.set_first_step(first);
  for (int i = 0; i < values; ++i) {
    report.add_values(i);
  }
  return report;
}

v1::End& AddEnd(v1::WorkerMessage& message, int64_t last_step) {
  v1::End& end = *message.add_ends();
  end.set_trial(7);
  end.set_attempt(2);
  end.set_last_step(last_step);
  end.mutable_complete();
  return end;
}

v1::Start& AddStart(v1::WorkerMessage& message, int64_t base_step) {
  v1::Start& start = *message.add_starts();
  start.set_trial(7);
  start.set_attempt(2);
  start.set_base_step(base_step);
  return start;
}

TEST(AttemptTableTest, TurnsAMessageIntoEventsInOrder) {
  v1::WorkerMessage message;
  AddEnd(message, 9);
  v1::Report& report = AddReport(message, 0, 4);
  report.add_step_deltas(9);
  report.set_train_seconds(1.5);
  report.set_eval_seconds(0.5);
  AddStart(message, -1);
  const auto incoming = TableOfOne().Read(message);
  ASSERT_THAT(incoming, IsOk());
  ASSERT_THAT(incoming->events, SizeIs(3));
  for (const AttemptEvents& events : incoming->events) {
    EXPECT_EQ(events.trial, 7);
    EXPECT_EQ(events.attempt, 2);
    EXPECT_EQ(events.session, kSession);
  }
  EXPECT_EQ(incoming->events[0].base_step, -1);
  EXPECT_THAT(incoming->events[1].steps, ElementsAre(0, 9));
  EXPECT_THAT(incoming->events[1].values, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(incoming->events[1].train_seconds, 1.5);
  EXPECT_EQ(incoming->events[2].ending->last_step, 9);
  EXPECT_TRUE(std::holds_alternative<Complete>(incoming->events[2].ending->outcome));
}

TEST(AttemptTableTest, NaNIsAValueLikeAnyOther) {
  v1::WorkerMessage message;
  AddReport(message, 0, 2).set_values(1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(TableOfOne().Read(message), IsOk());
}

TEST(AttemptTableTest, CutsTextsToWhatTheDatabaseCanStore) {
  v1::WorkerMessage message;
  v1::End::Failure& failure = *AddEnd(message, -1).mutable_failure();
  failure.set_kind(v1::End::Failure::WORKER);
  failure.set_message(std::string("a\0b", 3) + std::string(10'000, 'x'));
  const auto incoming = TableOfOne().Read(message);
  ASSERT_THAT(incoming, IsOk());
  const auto& outcome = std::get<Failure>(incoming->events[0].ending->outcome);
  EXPECT_TRUE(outcome.by_worker);
  EXPECT_EQ(outcome.message.substr(0, 4), "a bx");
  EXPECT_EQ(outcome.message.size(), 4096u);
}

struct Bad {
  const char* name;
  const char* says;
  std::function<void(v1::WorkerMessage&)> make;
};

class RefusesTest : public ::testing::TestWithParam<Bad> {};

TEST_P(RefusesTest, NamingWhatCannotBe) {
  v1::WorkerMessage message;
  GetParam().make(message);
  EXPECT_THAT(TableOfOne().Read(message), Fails(absl::StatusCode::kInvalidArgument, GetParam().says));
}

using M = v1::WorkerMessage;
INSTANTIATE_TEST_SUITE_P(
    All, RefusesTest,
    ::testing::Values(
        Bad{"UnknownTrial", "trial 8 attempt 2: neither assigned", [](M& m) { AddReport(m, 0, 2).set_trial(8); }},
        Bad{"UnknownAttempt", "trial 7 attempt 1: neither assigned", [](M& m) { AddEnd(m, 0).set_attempt(1); }},
        Bad{"StartBelow", "base_step -2", [](M& m) { AddStart(m, -2); }},
        Bad{"StartBeyond", "base_step 101; it must be -1 to 100", [](M& m) { AddStart(m, 101); }},
        Bad{"TooFewValues", "3 values; 1 points of 2 metrics are 2", [](M& m) { AddReport(m, 0, 3); }},
        Bad{"NoValues", "0 values", [](M& m) { AddReport(m, 0, 0); }},
        Bad{"NegativeStep", "step -1; steps are 0 to 100", [](M& m) { AddReport(m, -1, 2); }},
        Bad{"StepBeyondTheBudget", "step 101", [](M& m) { AddReport(m, 101, 2); }},
        Bad{"StepsThatDoNotRise", "0 steps after step 5", [](M& m) { AddReport(m, 5, 4).add_step_deltas(0); }},
        Bad{"StepsThatFall", "-1 steps after step 5", [](M& m) { AddReport(m, 5, 4).add_step_deltas(-1); }},
        Bad{"StepsThatLeaveTheBudget", "96 steps after step 5", [](M& m) { AddReport(m, 5, 4).add_step_deltas(96); }},
        Bad{"StepsThatOverflow", "steps after step 5",
            [](M& m) { AddReport(m, 5, 4).add_step_deltas(std::numeric_limits<int64_t>::max()); }},
        Bad{"TooManyPoints", "1025 points; at most 1024",
            [](M& m) {
              v1::Report& report = AddReport(m, 0, 2050);
              for (int i = 0; i < 1024; ++i) {
                report.add_step_deltas(1);
              }
            }},
        Bad{"InfiniteTime", "train_seconds inf",
            [](M& m) { AddReport(m, 0, 2).set_train_seconds(std::numeric_limits<double>::infinity()); }},
        Bad{"NegativeTime", "eval_seconds -1", [](M& m) { AddReport(m, 0, 2).set_eval_seconds(-1); }},
        Bad{"EndBeyond", "last_step 101", [](M& m) { AddEnd(m, 101); }},
        Bad{"EndBelow", "last_step -2", [](M& m) { AddEnd(m, -2); }},
        Bad{"EndWithoutOutcome", "without an outcome", [](M& m) { AddEnd(m, 0).clear_complete(); }},
        Bad{"DivergedBeyond", "diverged at step 101", [](M& m) { AddEnd(m, 0).mutable_diverged()->set_step(101); }},
        Bad{"LongLog", "log_tail of 16385 bytes", [](M& m) { AddEnd(m, 0).set_log_tail(std::string(16385, 'x')); }}),
    [](const auto& info) { return info.param.name; });

TEST(AttemptTableTest, AnswersForAnAttemptThatIsOverAndTakesNothing) {
  AttemptTable table = TableOfOne();
  table.Settle(
      {.trial = 7, .attempt = 2, .persisted_step = 30, .verdict = Verdict::kEnded, .state = TrialState::kComplete});
  EXPECT_EQ(table.held(), 0);
  v1::WorkerMessage message;
  AddReport(message, 0, 2);
  AddReport(message, 1, 3);  // Not even looked at.
  AddEnd(message, 1);
  const auto incoming = table.Read(message);
  ASSERT_THAT(incoming, IsOk());
  EXPECT_THAT(incoming->events, IsEmpty());
  ASSERT_THAT(incoming->answers, SizeIs(1));
  EXPECT_EQ(incoming->answers[0].verdict, Verdict::kEnded);
  EXPECT_EQ(incoming->answers[0].persisted_step, 30);
}

TEST(AttemptTableTest, AHeartbeatHearsOfWhatIsOverOrUnknownAndOfNothingElse) {
  AttemptTable table = TableOfOne();
  table.Settle({.trial = 8, .attempt = 1, .verdict = Verdict::kLost});
  v1::WorkerMessage message;
  for (const int64_t trial : {7, 8, 9}) {
    v1::Heartbeat::Running& running = *message.mutable_heartbeat()->add_running();
    running.set_trial(trial);
    running.set_attempt(trial == 7 ? 2 : 1);
  }
  const auto incoming = table.Read(message);
  ASSERT_THAT(incoming, IsOk());
  ASSERT_THAT(incoming->answers, SizeIs(2));
  EXPECT_EQ(incoming->answers[0].trial, 8);
  EXPECT_EQ(incoming->answers[1].trial, 9);
  EXPECT_EQ(incoming->answers[1].verdict, Verdict::kLost);
}

TEST(AttemptTableTest, ForgetsTheOldestThatAreOver) {
  AttemptTable table = TableOfOne();
  table.Settle({.trial = 7, .attempt = 2, .verdict = Verdict::kEnded});
  v1::WorkerMessage message;
  AddEnd(message, 0);
  EXPECT_THAT(table.Read(message), IsOk());
  for (int64_t trial = 1000; trial < 1000 + 4096; ++trial) {
    table.Settle({.trial = trial, .attempt = 1, .verdict = Verdict::kLost});
  }
  EXPECT_THAT(table.Read(message), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(AttemptTableTest, EndsTheRunningAttemptsOfASweepWhereTheyStand) {
  AttemptTable table = TableOfOne();
  table.Settle({.trial = 7, .attempt = 2, .persisted_step = 60, .verdict = Verdict::kHeld});
  table.Settle({.trial = 7, .attempt = 2, .persisted_step = 50, .verdict = Verdict::kHeld});  // Never goes down.
  EXPECT_THAT(table.Sweeps(), ElementsAre(5));
  EXPECT_THAT(table.EndedBySweep(6, TrialState::kCancelled, "x"), IsEmpty());
  const auto standings = table.EndedBySweep(5, TrialState::kCancelled, "the sweep was cancelled");
  ASSERT_THAT(standings, SizeIs(1));
  EXPECT_EQ(standings[0].persisted_step, 60);
  EXPECT_EQ(standings[0].verdict, Verdict::kEnded);
  EXPECT_EQ(standings[0].state, TrialState::kCancelled);
  table.Settle(standings[0]);
  EXPECT_THAT(table.EndedBySweep(5, TrialState::kCancelled, "x"), IsEmpty());
  EXPECT_THAT(table.Sweeps(), IsEmpty());
}

TEST(AttemptTableTest, AGrantThatIsKnownChangesNothing) {
  AttemptTable table = TableOfOne();
  StudyDefinition other;
  other.metrics = {"val/loss"};
  EXPECT_FALSE(table.Hold({.trial = 7, .attempt = 2, .sweep = 6}, other));
  EXPECT_TRUE(table.Hold({.trial = 7, .attempt = 3, .sweep = 5}, other));
  EXPECT_EQ(table.held(), 2);
  EXPECT_THAT(table.Sweeps(), ElementsAre(5));
}

}  // namespace
}  // namespace stepcurve
