// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/flush_timing.h"

#include "gtest/gtest.h"

namespace stepcurve {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);
constexpr FlushLimits kLimits = {.linger = absl::Milliseconds(4), .batch_events = 10, .batch_bytes = 1000};

struct Case {
  const char* name;
  QueueSnapshot queue;
  absl::Duration wait;
};

class UntilFlushTest : public ::testing::TestWithParam<Case> {};

TEST_P(UntilFlushTest, Waits) { EXPECT_EQ(UntilFlush(GetParam().queue, kLimits, kNow), GetParam().wait); }

INSTANTIATE_TEST_SUITE_P(
    All, UntilFlushTest,
    ::testing::Values(
        Case{"ForEverWhenEmpty", {}, absl::InfiniteDuration()},
        Case{"ForEverWhenEmptyAndStopping", {.stopping = true}, absl::InfiniteDuration()},
        Case{"TheWholeLingerForANewEvent", {.events = 1, .bytes = 10, .oldest = kNow}, absl::Milliseconds(4)},
        Case{"TheRestOfTheLinger",
             {.events = 1, .bytes = 10, .oldest = kNow - absl::Milliseconds(3)},
             absl::Milliseconds(1)},
        Case{"NotAfterTheLinger",
             {.events = 1, .bytes = 10, .oldest = kNow - absl::Milliseconds(5)},
             absl::ZeroDuration()},
        Case{"NoLongerThanTheLingerWhenTheClockWasSetBack",
             {.events = 1, .bytes = 10, .oldest = kNow + absl::Hours(1)},
             absl::Milliseconds(4)},
        Case{"NotWithABatchOfEvents", {.events = 10, .bytes = 10, .oldest = kNow}, absl::ZeroDuration()},
        Case{"NotWithABatchOfBytes", {.events = 1, .bytes = 1000, .oldest = kNow}, absl::ZeroDuration()},
        Case{"NotWhenStopping", {.events = 1, .bytes = 10, .oldest = kNow, .stopping = true}, absl::ZeroDuration()}),
    [](const auto& info) { return info.param.name; });

TEST(RetryDelayTest, DoublesUpToASecond) {
  EXPECT_EQ(RetryDelay(0), absl::Milliseconds(50));
  EXPECT_EQ(RetryDelay(1), absl::Milliseconds(100));
  EXPECT_EQ(RetryDelay(4), absl::Milliseconds(800));
  EXPECT_EQ(RetryDelay(5), absl::Seconds(1));
  EXPECT_EQ(RetryDelay(1'000'000), absl::Seconds(1));
}

TEST(ClassifyTest, WaitsForTheDatabaseAndSplitsForTheRest) {
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kAborted, absl::StatusCode::kUnknown,
        absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded}) {
    EXPECT_EQ(Classify(code), FlushFailure::kRetry) << absl::StatusCodeToString(code);
  }
  for (const absl::StatusCode code : {absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
                                      absl::StatusCode::kAlreadyExists, absl::StatusCode::kInternal}) {
    EXPECT_EQ(Classify(code), FlushFailure::kSplit) << absl::StatusCodeToString(code);
  }
}

}  // namespace
}  // namespace stepcurve
