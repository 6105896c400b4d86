// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/agent/assignment.h"

namespace stepcurve {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);
constexpr absl::Duration kLinger = absl::Milliseconds(50);
constexpr MessageRoom kRoomy = {.bytes = 256 << 10, .points_per_report = 1024};

TrialRun RunOf(int64_t trial, const std::string& dataset = "quadratic") {
  TrialRun run;
  run.trial = trial;
  run.attempt = 1;
  run.workload.dataset = dataset;
  run.metrics = {"val/loss"};
  return run;
}

v1::Standing StandingOf(int64_t trial, v1::Standing::Verdict verdict, int64_t persisted_step = -1) {
  v1::Standing standing;
  standing.set_trial(trial);
  standing.set_attempt(1);
  standing.set_verdict(verdict);
  standing.set_persisted_step(persisted_step);
  return standing;
}

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : ledger_({2}) { ledger_.BeginStream(); }

  bool Assign(int64_t trial, const std::string& dataset = "quadratic", absl::Time now = kNow) {
    return ledger_.Assign(0, {.run = RunOf(trial, dataset)}, now);
  }
  // Trial that begins; 0: none.
  int64_t Begin(absl::Time now = kNow) {
    const auto task = ledger_.Begin(
        0, [](const TrialRun&) { return true; }, now);
    return task.has_value() ? task->run.trial : 0;
  }
  v1::WorkerMessage Fill(absl::Time now = kNow) {
    v1::WorkerMessage message;
    ledger_.Fill(kRoomy, now, message);
    return message;
  }
  int64_t Wanted(absl::Time now = kNow) {
    v1::WorkerMessage message;
    ledger_.FillDemand(now, message);
    return message.demands_size() == 0 ? -1 : message.demands(0).wanted_total();
  }

  Ledger ledger_;
};

TEST_F(LedgerTest, AnAttemptIsBegunOnce) {
  EXPECT_TRUE(Assign(1));
  EXPECT_FALSE(Assign(1)) << "assigned again while it waits";
  EXPECT_EQ(Begin(), 1);
  EXPECT_FALSE(Assign(1)) << "assigned again while it runs";
  EXPECT_EQ(Begin(), 0);
}

TEST_F(LedgerTest, WhatCannotRunYetDoesNotHoldUpTheRest) {
  Assign(1, "fashion_mnist");
  Assign(2);
  const auto only_quadratic = [](const TrialRun& run) { return run.workload.dataset == "quadratic"; };
  const auto task = ledger_.Begin(0, only_quadratic, kNow);
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->run.trial, 2);
  EXPECT_EQ(Begin(), 1);
}

TEST_F(LedgerTest, OneMessageCarriesAWholeShortAttempt) {
  Assign(1);
  Begin();
  ledger_.Measured({1, 1}, 0, {0.5}, 0, 0, kNow);
  ledger_.End({1, 1}, EndOf({}, v1::End::Released::DRAIN), kNow);
  const v1::WorkerMessage message = Fill();
  EXPECT_EQ(message.starts_size(), 1);
  EXPECT_EQ(message.reports_size(), 1);
  ASSERT_EQ(message.ends_size(), 1);
  EXPECT_EQ(message.ends(0).last_step(), 0);
  EXPECT_EQ(ledger_.attempts(), 1U) << "kept until its end is durable";
  EXPECT_FALSE(ledger_.Apply(StandingOf(1, v1::Standing::ENDED)));
  EXPECT_TRUE(ledger_.empty());
  EXPECT_EQ(ledger_.buffered_bytes(), 0U);
}

TEST_F(LedgerTest, EventsWaitForCompanyUntilTheMessageIsFull) {
  Assign(1);
  Assign(2);
  Begin();
  Begin();
  EXPECT_EQ(ledger_.SendTime(kLinger, kNow), kNow + kLinger);
  Fill();
  Wanted();
  EXPECT_EQ(ledger_.SendTime(kLinger, kNow), absl::InfiniteFuture());
  const absl::Time later = kNow + absl::Seconds(1);
  EXPECT_TRUE(ledger_.Measured({1, 1}, 0, {0.5}, 0, 0, later)) << "the first since the last message";
  EXPECT_EQ(ledger_.SendTime(kLinger, later), later + kLinger);
  int woken = 0;
  for (int64_t step = 1; step < 10'000; ++step) {
    woken += ledger_.Measured({1, 1}, step, {0.5}, 0, 0, later);
  }
  EXPECT_EQ(woken, 1) << "when the message is full";
  EXPECT_LE(ledger_.SendTime(kLinger, later), later);
}

TEST_F(LedgerTest, AnIdleSlotAsksAtOnce) {
  EXPECT_LE(ledger_.SendTime(kLinger, kNow), kNow);
  EXPECT_EQ(Wanted(), 2);
  EXPECT_EQ(ledger_.SendTime(kLinger, kNow), absl::InfiniteFuture()) << "it has asked";
  EXPECT_EQ(Wanted(), -1) << "nothing new to ask for";
}

TEST_F(LedgerTest, ABrokenStreamSendsAgainFromThePersistedStep) {
  Assign(1);
  Assign(2);
  Begin();
  for (int64_t step = 0; step < 10; ++step) ledger_.Measured({1, 1}, step, {0.5}, 0, 0, kNow);
  Fill();
  ledger_.Apply(StandingOf(1, v1::Standing::HELD, 6));
  ledger_.BeginStream();
  ASSERT_EQ(ledger_.Held().size(), 2U);
  EXPECT_EQ(ledger_.Held()[0].first_spooled_step(), 7);
  EXPECT_EQ(ledger_.Held()[1].first_spooled_step(), -1);
  const v1::WorkerMessage message = Fill();
  EXPECT_EQ(message.starts_size(), 1) << "only of the one that began";
  ASSERT_EQ(message.reports_size(), 1);
  EXPECT_EQ(message.reports(0).first_step(), 7);
  EXPECT_EQ(message.reports(0).step_deltas_size(), 2);
}

struct Verdict {
  std::string name;
  v1::Standing::Verdict verdict;
  bool begun;
  bool dropped;
  bool stops;
};

class VerdictTest : public ::testing::TestWithParam<Verdict> {};

TEST_P(VerdictTest, EndedAndLostFreeTheAttempt) {
  Ledger ledger({1});
  ledger.Assign(0, {.run = RunOf(1)}, kNow);
  if (GetParam().begun)
    ledger.Begin(
        0, [](const TrialRun&) { return true; }, kNow);
  EXPECT_EQ(ledger.Apply(StandingOf(1, GetParam().verdict)), GetParam().stops);
  EXPECT_EQ(ledger.empty(), GetParam().dropped);
  EXPECT_FALSE(ledger.Apply(StandingOf(9, GetParam().verdict))) << "unknown";
}

INSTANTIATE_TEST_SUITE_P(All, VerdictTest,
                         ::testing::Values(Verdict{"HeldRunning", v1::Standing::HELD, true, false, false},
                                           Verdict{"EndedRunning", v1::Standing::ENDED, true, true, true},
                                           Verdict{"LostRunning", v1::Standing::LOST, true, true, true},
                                           Verdict{"LostWaiting", v1::Standing::LOST, false, true, false}),
                         [](const auto& info) { return info.param.name; });

TEST_F(LedgerTest, NothingIsTakenOfADroppedAttempt) {
  Assign(1);
  Begin();
  ledger_.Apply(StandingOf(1, v1::Standing::LOST));
  ledger_.Measured({1, 1}, 0, {0.5}, 0, 0, kNow);
  ledger_.End({1, 1}, EndOf({}, v1::End::Released::DRAIN), kNow);
  EXPECT_EQ(Fill().ByteSizeLong(), 0U);
}

TEST_F(LedgerTest, WhatARunnerMayNotReportEndsTheAttempt) {
  Assign(1);
  Begin();
  ledger_.Measured({1, 1}, 5, {0.5}, 0, 0, kNow);
  ledger_.Measured({1, 1}, 5, {0.5}, 0, 0, kNow);
  const v1::WorkerMessage message = Fill();
  ASSERT_EQ(message.ends_size(), 1);
  EXPECT_EQ(message.ends(0).failure().kind(), v1::End::Failure::WORKER);
}

TEST_F(LedgerTest, ABacklogAsksForNothing) {
  Wanted();
  Assign(1);
  Assign(2);
  Begin();
  Begin();
  for (int64_t step = 0; step < 2'000'000; ++step) ledger_.Measured({1, 1}, step, {0.5}, 0, 0, kNow);
  ledger_.End({1, 1}, EndOf({}, v1::End::Released::DRAIN), kNow);
  EXPECT_EQ(Wanted(), -1);
  ledger_.Apply(StandingOf(1, v1::Standing::ENDED));
  EXPECT_GT(Wanted(), 2);
}

TEST_F(LedgerTest, ADrainAsksForNothingAndHandsBackWhatWaits) {
  Assign(1);
  Assign(2);
  Begin();
  ledger_.CloseDemand();
  ledger_.EndAllWaiting(ReleasedEnd(v1::End::Released::DRAIN), kNow);
  EXPECT_EQ(Wanted(), -1);
  const v1::WorkerMessage message = Fill();
  ASSERT_EQ(message.ends_size(), 1);
  EXPECT_EQ(message.ends(0).trial(), 2);
  EXPECT_EQ(message.ends(0).last_step(), -1);
  EXPECT_EQ(message.starts_size(), 1) << "of the one that runs";
}

TEST_F(LedgerTest, AssignmentsThatNoSlotTakesSoonGoBack) {
  for (int64_t trial = 1; trial <= 5; ++trial) Assign(trial);
  Begin();
  Begin();
  ledger_.ReleaseSurplus(kNow + absl::Seconds(9));
  EXPECT_EQ(Fill().ends_size(), 0);
  ledger_.ReleaseSurplus(kNow + absl::Seconds(11));
  const v1::WorkerMessage message = Fill();
  ASSERT_EQ(message.ends_size(), 3);
  EXPECT_EQ(message.ends(0).released().why(), v1::End::Released::PREEMPTED);
}

TEST_F(LedgerTest, HeartbeatsListWhatRunsWithItsStep) {
  Assign(1);
  Assign(2);
  Begin();
  ledger_.Measured({1, 1}, 3, {0.5}, 0, 0, kNow);
  ledger_.Progressed({1, 1}, 12);
  v1::WorkerMessage message;
  ledger_.FillHeartbeat(message);
  ASSERT_EQ(message.heartbeat().running_size(), 1);
  EXPECT_EQ(message.heartbeat().running(0).trial(), 1);
  EXPECT_EQ(message.heartbeat().running(0).step(), 12);
}

TEST_F(LedgerTest, AnEndThatStaysUnansweredIsSentAgain) {
  Assign(1);
  Begin();
  ledger_.Measured({1, 1}, 3, {0.5}, 0, 0, kNow);
  ledger_.End({1, 1}, EndOf({}, v1::End::Released::DRAIN), kNow);
  Fill(kNow);
  ledger_.ResendUnanswered(kNow, kNow + absl::Seconds(60));
  EXPECT_EQ(Fill(kNow).ByteSizeLong(), 0U);
  ledger_.ResendUnanswered(kNow + absl::Seconds(1), kNow + absl::Seconds(61));
  const v1::WorkerMessage again = Fill(kNow + absl::Seconds(61));
  EXPECT_EQ(again.reports_size(), 1);
  EXPECT_EQ(again.ends_size(), 1);
}

TEST_F(LedgerTest, MessagesKeepToTheirSizeAndTakeTurns) {
  Assign(1);
  Assign(2);
  Begin();
  Begin();
  Fill();
  for (int64_t step = 0; step < 3000; ++step) ledger_.Measured({1, 1}, step, {0.5}, 0, 0, kNow);
  ledger_.Measured({2, 1}, 0, {0.5}, 0, 0, kNow);
  const MessageRoom tight = {.bytes = 8 << 10, .points_per_report = 100};
  v1::WorkerMessage first, second;
  ledger_.Fill(tight, kNow, first);
  ledger_.Fill(tight, kNow, second);
  EXPECT_LE(first.ByteSizeLong(), tight.bytes);
  EXPECT_EQ(first.reports(0).trial(), 1);
  EXPECT_EQ(second.reports(0).trial(), 2) << "waited one message, no more";
}

}  // namespace
}  // namespace stepcurve
