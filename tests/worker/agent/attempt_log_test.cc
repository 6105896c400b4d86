// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/attempt_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

constexpr MessageRoom kRoomy = {.bytes = 256 << 10, .points_per_report = 1024};

AttemptLog LogOf(int points) {
  AttemptLog log({7, 2}, 2);
  log.AddStart();
  for (int step = 0; step < points; ++step) {
    log.AddPoint(step * 10, {step + 0.25, step + 0.5}, step * 0.1, step * 0.01);
  }
  return log;
}

v1::WorkerMessage Send(AttemptLog& log, MessageRoom room = kRoomy) {
  v1::WorkerMessage message;
  log.Send(room, message);
  return message;
}

v1::End Complete() {
  v1::End end;
  end.mutable_complete();
  return end;
}

std::vector<int64_t> StepsOf(const v1::WorkerMessage& message) {
  std::vector<int64_t> steps;
  for (const v1::Report& report : message.reports()) {
    int64_t step = report.first_step();
    steps.push_back(step);
    for (const int64_t delta : report.step_deltas()) {
      steps.push_back(step += delta);
    }
  }
  return steps;
}

TEST(AttemptLogTest, EventsAreSentOnceAndInFull) {
  AttemptLog log = LogOf(3);
  log.AddEnd(Complete());
  const v1::WorkerMessage message = Send(log);
  ASSERT_EQ(message.starts_size(), 1);
  EXPECT_EQ(message.starts(0).trial(), 7);
  EXPECT_EQ(message.starts(0).attempt(), 2);
  EXPECT_EQ(message.starts(0).base_step(), -1);
  ASSERT_EQ(message.reports_size(), 1);
  const v1::Report& report = message.reports(0);
  EXPECT_EQ(report.first_step(), 0);
  EXPECT_THAT(report.step_deltas(), ElementsAre(10, 10));
  EXPECT_THAT(report.values(), ElementsAre(0.25, 1.25, 2.25, 0.5, 1.5, 2.5)) << "metric by metric";
  EXPECT_EQ(report.train_seconds(), 0.2);
  EXPECT_EQ(report.eval_seconds(), 0.02);
  ASSERT_EQ(message.ends_size(), 1);
  EXPECT_EQ(message.ends(0).trial(), 7);
  EXPECT_EQ(message.ends(0).last_step(), 20);
  EXPECT_FALSE(log.due());
  EXPECT_EQ(Send(log).ByteSizeLong(), 0);
}

TEST(AttemptLogTest, ReportsKeepToTheirLimitOfPoints) {
  AttemptLog log = LogOf(25);
  const v1::WorkerMessage message = Send(log, {.bytes = 256 << 10, .points_per_report = 10});
  ASSERT_EQ(message.reports_size(), 3);
  EXPECT_EQ(message.reports(2).first_step(), 200);
  EXPECT_EQ(message.reports(2).step_deltas_size(), 4);
}

TEST(AttemptLogTest, MessagesKeepToTheirLimitOfBytesAndTheEndComesLast) {
  AttemptLog log = LogOf(5000);
  log.AddEnd(Complete());
  std::vector<int64_t> steps;
  int messages = 0;
  for (; log.due(); ++messages) {
    const v1::WorkerMessage message = Send(log, {.bytes = 16 << 10, .points_per_report = 1024});
    EXPECT_LE(message.ByteSizeLong(), size_t{16 << 10});
    EXPECT_EQ(message.ends_size(), log.due() ? 0 : 1);
    const std::vector<int64_t> sent = StepsOf(message);
    steps.insert(steps.end(), sent.begin(), sent.end());
  }
  EXPECT_GT(messages, 5);
  ASSERT_EQ(steps.size(), 5000U);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end(), std::less_equal<>())) << "a step was sent twice";
}

TEST(AttemptLogTest, WhatIsNotPersistedIsSentAgain) {
  AttemptLog log = LogOf(6);
  log.AddEnd(Complete());
  Send(log);
  log.Persisted(25);
  EXPECT_EQ(log.points(), 3U);
  EXPECT_EQ(log.Held().first_spooled_step(), 30);
  EXPECT_TRUE(log.Held().end_spooled());
  log.Resend();
  const v1::WorkerMessage again = Send(log);
  EXPECT_EQ(again.starts_size(), 1);
  EXPECT_THAT(StepsOf(again), ElementsAre(30, 40, 50));
  EXPECT_EQ(again.ends_size(), 1);
}

TEST(AttemptLogTest, AnAckBeyondWhatWasSentSkipsIt) {
  AttemptLog log = LogOf(6);
  log.Persisted(30);  // Sent on an earlier stream, and acknowledged on this one.
  EXPECT_THAT(StepsOf(Send(log)), ElementsAre(40, 50));
  log.Persisted(10);  // Acks never go down.
  log.Resend();
  EXPECT_THAT(StepsOf(Send(log)), ElementsAre(40, 50));
}

TEST(AttemptLogTest, LongRunsKeepOnlyWhatIsNotPersisted) {
  AttemptLog log({1, 1}, 1);
  std::vector<int64_t> steps;
  for (int64_t step = 0; step < 100'000; ++step) {
    log.AddPoint(step, {1.0}, 0, 0);
    if (step % 1000 != 999) continue;
    const std::vector<int64_t> sent = StepsOf(Send(log));
    steps.insert(steps.end(), sent.begin(), sent.end());
    log.Persisted(step - 500);
  }
  EXPECT_EQ(log.points(), 500U);
  EXPECT_EQ(steps.size(), 100'000U);
  EXPECT_EQ(steps.back(), 99'999);
}

TEST(AttemptLogTest, TakesRisingStepsOfTheRightWidthOnly) {
  AttemptLog log = LogOf(2);
  EXPECT_TRUE(log.Takes(11, {1, 2}));
  EXPECT_FALSE(log.Takes(10, {1, 2}));
  EXPECT_FALSE(log.Takes(11, {1}));
}

}  // namespace
}  // namespace stepcurve
