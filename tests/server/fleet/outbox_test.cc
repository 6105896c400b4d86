// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/outbox.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

v1::Standing StandingOf(int64_t trial) {
  v1::Standing standing;
  standing.set_trial(trial);
  return standing;
}

TEST(OutboxTest, PutsPartsIntoOneMessage) {
  Outbox outbox({});
  v1::StudyDefinition study;
  study.set_study(3);
  v1::Assignment assignment;
  assignment.set_study(3);
  outbox.Add(study);
  outbox.Add(assignment);
  outbox.Add(StandingOf(1));
  const auto message = outbox.Take();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->studies_size(), 1);
  EXPECT_EQ(message->assignments_size(), 1);
  EXPECT_EQ(message->standings_size(), 1);
  EXPECT_FALSE(outbox.Take().has_value());
}

TEST(OutboxTest, KeepsMessagesBelowTheirLimitAndInOrder) {
  Outbox outbox({.message_bytes = 1000});
  constexpr int kStandings = 500;
  for (int trial = 1; trial <= kStandings; ++trial) {
    v1::Standing standing = StandingOf(trial);
    standing.set_reason(std::string(100, 'x'));
    outbox.Add(std::move(standing));
  }
  int64_t last = 0;
  int messages = 0;
  while (const auto message = outbox.Take()) {
    EXPECT_LE(message->ByteSizeLong(), 1000u);
    for (const v1::Standing& standing : message->standings()) {
      EXPECT_EQ(standing.trial(), ++last);
    }
    ++messages;
  }
  EXPECT_EQ(last, kStandings);
  EXPECT_LT(messages, kStandings / 5);
}

TEST(OutboxTest, SendsAPartThatIsLargerThanTheLimitAlone) {
  Outbox outbox({.message_bytes = 10});
  v1::Standing standing = StandingOf(1);
  standing.set_reason(std::string(100, 'x'));
  outbox.Add(standing);
  outbox.Add(StandingOf(2));
  EXPECT_EQ(outbox.Take()->standings_size(), 1);
  EXPECT_EQ(outbox.Take()->standings_size(), 1);
}

TEST(OutboxTest, AMessageOfItsOwnTakesNothingMore) {
  Outbox outbox({});
  outbox.Add(StandingOf(1));
  v1::ServerMessage ended;
  ended.mutable_session_ended()->set_reason("lease");
  outbox.Add(ended);
  outbox.Add(StandingOf(2));
  EXPECT_FALSE(outbox.Take()->has_session_ended());
  const auto second = outbox.Take();
  EXPECT_TRUE(second->has_session_ended());
  EXPECT_EQ(second->standings_size(), 0);
  EXPECT_EQ(outbox.Take()->standings(0).trial(), 2);
  EXPECT_TRUE(outbox.empty());
}

TEST(OutboxTest, KnowsWhenAWorkerDoesNotRead) {
  Outbox outbox({.total_bytes = 1000});
  for (int trial = 0; !outbox.over_limit(); ++trial) {
    ASSERT_LT(trial, 1000);
    outbox.Add(StandingOf(trial));
  }
  outbox.Take();
  EXPECT_FALSE(outbox.over_limit());
}

}  // namespace
}  // namespace stepcurve
