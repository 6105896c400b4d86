// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/event_queue.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/ingest/merge.h"
#include "tests/server/ingest/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr FlushLimits kAtOnce = {.linger = absl::ZeroDuration()};

std::vector<int64_t> TrialsOf(const std::vector<BatchEntry>& batch) {
  std::vector<int64_t> trials;
  for (const BatchEntry& entry : batch) {
    trials.push_back(entry.events.trial);
  }
  return trials;
}

TEST(EventQueueTest, TakesOneEntryPerAttemptInOrderOfArrival) {
  EventQueue queue({.limits = kAtOnce});
  const auto listener = std::make_shared<RecordingListener>();
  const auto source = queue.Open(listener);
  EXPECT_TRUE(queue.Push(source, {Points(7, 1, {0}), Points(3, 1, {0}), Points(7, 1, {1, 2})}));
  const std::vector<BatchEntry> batch = queue.Take();
  EXPECT_THAT(TrialsOf(batch), ElementsAre(7, 3));
  EXPECT_THAT(batch[0].events.steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(batch[0].sources, ElementsAre(source));
}

TEST(EventQueueTest, KeepsAttemptsOfOneTrialApart) {
  EventQueue queue({.limits = kAtOnce});
  const auto source = queue.Open(std::make_shared<RecordingListener>());
  queue.Push(source, {Points(7, 1, {0}), Points(7, 2, {0})});
  EXPECT_THAT(queue.Take(), SizeIs(2));
}

TEST(EventQueueTest, MergesTheSameAttemptOfTwoStreamsAndAnswersBoth) {
  EventQueue queue({.limits = kAtOnce});
  const auto before = queue.Open(std::make_shared<RecordingListener>());
  const auto after = queue.Open(std::make_shared<RecordingListener>());
  queue.Push(before, {Points(7, 1, {0, 1})});
  queue.Push(after, {Points(7, 1, {0, 1, 2})});
  const std::vector<BatchEntry> batch = queue.Take();
  ASSERT_THAT(batch, SizeIs(1));
  EXPECT_THAT(batch[0].events.steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(batch[0].sources, ElementsAre(before, after));
  queue.Release(batch);
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(EventQueueTest, LeavesWhatIsBeyondABatchForTheNext) {
  EventQueue queue({.limits = {.linger = absl::ZeroDuration(), .batch_events = 2}});
  const auto source = queue.Open(std::make_shared<RecordingListener>());
  queue.Push(source, {Points(1, 1, {0}), Points(2, 1, {0}), Points(3, 1, {0})});
  EXPECT_THAT(TrialsOf(queue.Take()), ElementsAre(1, 2));
  EXPECT_THAT(TrialsOf(queue.Take()), ElementsAre(3));
}

TEST(EventQueueTest, PausesAStreamAtItsOwnQuotaAndResumesItAtHalf) {
  const size_t one = BytesOf(Points(1, 1, {0}));
  EventQueue queue({.limits = {.linger = absl::ZeroDuration(), .batch_events = 1}, .source_bytes = 2 * one});
  const auto greedy = std::make_shared<RecordingListener>();
  const auto source = queue.Open(greedy);
  EXPECT_TRUE(queue.Push(source, {Points(1, 1, {0}), Points(2, 1, {0})}));
  EXPECT_FALSE(queue.Push(source, {Points(3, 1, {0})}));
  // Another stream is not concerned.
  EXPECT_TRUE(queue.Push(queue.Open(std::make_shared<RecordingListener>()), {Points(9, 1, {0})}));
  queue.Release(queue.Take());
  EXPECT_EQ(greedy->resumed(), 0);  // 2 of 2 left.
  queue.Release(queue.Take());
  EXPECT_EQ(greedy->resumed(), 1);  // 1 of 2 left.
  queue.Release(queue.Take());
  queue.Release(queue.Take());
  EXPECT_EQ(greedy->resumed(), 1);
}

TEST(EventQueueTest, PausesEveryStreamThatPushesBeyondTheTotal) {
  const size_t one = BytesOf(Points(1, 1, {0}));
  EventQueue queue({.limits = kAtOnce, .total_bytes = 2 * one});
  const auto first = std::make_shared<RecordingListener>();
  const auto second = std::make_shared<RecordingListener>();
  EXPECT_TRUE(queue.Push(queue.Open(first), {Points(1, 1, {0}), Points(2, 1, {0})}));
  EXPECT_FALSE(queue.Push(queue.Open(second), {Points(3, 1, {0})}));
  const std::vector<BatchEntry> batch = queue.Take();
  EXPECT_EQ(second->resumed(), 0);  // What is being flushed still counts.
  queue.Release(batch);
  EXPECT_EQ(second->resumed(), 1);
  EXPECT_EQ(first->resumed(), 0);
}

TEST(EventQueueTest, ARejectedStreamLosesWhatItHasQueuedAndTakesNoMore) {
  EventQueue queue({.limits = kAtOnce});
  const auto bad = queue.Open(std::make_shared<RecordingListener>());
  const auto good = queue.Open(std::make_shared<RecordingListener>());
  queue.Push(bad, {Points(1, 1, {0})});
  queue.Push(good, {Points(2, 1, {0})});
  queue.Reject(bad);
  EXPECT_TRUE(queue.Push(bad, {Points(3, 1, {0})}));
  const std::vector<BatchEntry> batch = queue.Take();
  EXPECT_THAT(TrialsOf(batch), ElementsAre(2));
  queue.Release(batch);
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(EventQueueTest, FlushesWhatAStreamLeftBehind) {
  EventQueue queue({.limits = kAtOnce});
  queue.Push(queue.Open(std::make_shared<RecordingListener>()), {Points(1, 1, {0})});
  EXPECT_THAT(TrialsOf(queue.Take()), ElementsAre(1));
}

TEST(EventQueueTest, TakeWaitsForEventsAndEndsWhenStoppedAndEmpty) {
  EventQueue queue({.limits = {.linger = absl::Hours(1)}});
  const auto source = queue.Open(std::make_shared<RecordingListener>());
  queue.Push(source, {Points(1, 1, {0})});
  queue.Stop();  // No more waiting for company.
  EXPECT_THAT(TrialsOf(queue.Take()), ElementsAre(1));
  EXPECT_THAT(queue.Take(), IsEmpty());
}

TEST(EventQueueTest, AbandonDropsWhatIsQueued) {
  EventQueue queue({.limits = kAtOnce});
  queue.Push(queue.Open(std::make_shared<RecordingListener>()), {Points(1, 1, {0})});
  queue.Abandon();
  EXPECT_THAT(queue.Take(), IsEmpty());
  EXPECT_EQ(queue.bytes(), 0u);
}

}  // namespace
}  // namespace stepcurve
