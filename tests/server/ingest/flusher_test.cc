// SPDX-License-Identifier: Apache-2.0
//
// Flushers over a stand-in for FlushStore::Flush, so that ThreadSanitizer can watch; the real one has its own tests.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/ingest/ingest.h"
#include "tests/server/ingest/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kGenerous = absl::Seconds(30);

// Keeps what is flushed, as a database would: points beyond the last stored step.
class Stored {
 public:
  absl::StatusOr<FlushStore::Result> Flush(const std::vector<AttemptEvents>& batch) {
    absl::MutexLock lock(&mu_);
    ++flushes_;
    FlushStore::Result result;
    for (const AttemptEvents& events : batch) {
      std::vector<int64_t>& steps = steps_[events.trial];
      for (const int64_t step : events.steps) {
        if (steps.empty() || step > steps.back()) {
          steps.push_back(step);
        }
      }
      result.standings.push_back({.trial = events.trial,
                                  .attempt = events.attempt,
                                  .persisted_step = steps.empty() ? -1 : steps.back(),
                                  .verdict = Verdict::kHeld});
    }
    return result;
  }
  std::vector<int64_t> steps(int64_t trial) {
    absl::MutexLock lock(&mu_);
    return steps_[trial];
  }
  int flushes() {
    absl::MutexLock lock(&mu_);
    return flushes_;
  }

 private:
  absl::Mutex mu_;
  std::map<int64_t, std::vector<int64_t>> steps_ ABSL_GUARDED_BY(mu_);
  int flushes_ ABSL_GUARDED_BY(mu_) = 0;
};

AfterCommit Nothing() {
  return {[](const std::vector<int64_t>&) {}, [](const std::vector<int64_t>&) {}, [] {}};
}

Ingest::Options OptionsFor(std::vector<FlushFn> flushers) {
  Ingest::Options options;
  options.flushers = std::move(flushers);
  options.after = Nothing();
  return options;
}

TEST(IngestTest, AnswersAfterTheCommitAndNotBefore) {
  Stored stored;
  absl::Notification may_commit;
  Ingest ingest(OptionsFor({[&](const std::vector<AttemptEvents>& batch) {
    may_commit.WaitForNotification();
    return stored.Flush(batch);
  }}));
  const auto listener = std::make_shared<RecordingListener>();
  Ingest::Inlet inlet = ingest.Open(1, listener);
  inlet.Push({Points(7, 2, {0, 5})});
  EXPECT_THAT(listener->standings(), IsEmpty());
  may_commit.Notify();
  ASSERT_TRUE(listener->AwaitNews(1));
  const Standing standing = listener->standings()[0];
  EXPECT_EQ(standing.trial, 7);
  EXPECT_EQ(standing.attempt, 2);
  EXPECT_EQ(standing.persisted_step, 5);
}

class RetriedTest : public ::testing::TestWithParam<absl::StatusCode> {};

TEST_P(RetriedTest, RepeatsTheBatchUntilTheDatabaseTakesIt) {
  Stored stored;
  std::atomic<int> calls = 0;
  Ingest ingest(OptionsFor({[&](const std::vector<AttemptEvents>& batch) -> absl::StatusOr<FlushStore::Result> {
    if (++calls < 3) {
      if (GetParam() == absl::StatusCode::kUnknown) {
        stored.Flush(batch).IgnoreError();  // It was committed after all.
      }
      return absl::Status(GetParam(), "away");
    }
    return stored.Flush(batch);
  }}));
  const auto listener = std::make_shared<RecordingListener>();
  ingest.Open(1, listener).Push({Points(7, 1, {0, 1}), Points(8, 1, {0})});
  ASSERT_TRUE(listener->AwaitNews(2));
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(listener->rejections(), IsEmpty());
  EXPECT_THAT(stored.steps(7), ElementsAre(0, 1));
}

INSTANTIATE_TEST_SUITE_P(All, RetriedTest,
                         ::testing::Values(absl::StatusCode::kUnavailable, absl::StatusCode::kAborted,
                                           absl::StatusCode::kUnknown),
                         [](const auto& info) { return absl::StatusCodeToString(info.param); });

class HalvedTest : public ::testing::TestWithParam<absl::StatusCode> {};

TEST_P(HalvedTest, FindsTheEventAtFaultAndTellsItsStreamOnly) {
  constexpr int64_t kBad = 13;
  Stored stored;
  Ingest::Options options =
      OptionsFor({[&](const std::vector<AttemptEvents>& batch) -> absl::StatusOr<FlushStore::Result> {
        if (std::any_of(batch.begin(), batch.end(), [](const AttemptEvents& events) { return events.trial == kBad; })) {
          return absl::Status(GetParam(), "value out of range");
        }
        return stored.Flush(batch);
      }});
  options.queue.limits.linger = absl::Milliseconds(100);  // All in one batch.
  Ingest ingest(options);
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  for (int64_t trial = 1; trial <= 20; ++trial) {
    listeners.push_back(std::make_shared<RecordingListener>());
    ingest.Open(trial, listeners.back()).Push({Points(trial, 1, {0})});
  }
  for (int64_t trial = 1; trial <= 20; ++trial) {
    const RecordingListener& listener = *listeners[trial - 1];
    ASSERT_TRUE(listener.AwaitNews(1)) << trial;
    EXPECT_THAT(listener.standings(), SizeIs(trial == kBad ? 0 : 1)) << trial;
    EXPECT_THAT(listener.rejections(), SizeIs(trial == kBad ? 1 : 0)) << trial;
  }
  const absl::Status why = listeners[kBad - 1]->rejections()[0];
  EXPECT_THAT(std::string(why.message()), HasSubstr("trial 13 attempt 1"));
  EXPECT_THAT(std::string(why.message()), HasSubstr("value out of range"));
}

INSTANTIATE_TEST_SUITE_P(All, HalvedTest,
                         ::testing::Values(absl::StatusCode::kInvalidArgument, absl::StatusCode::kFailedPrecondition,
                                           absl::StatusCode::kInternal),
                         [](const auto& info) {
                           std::string name = absl::StatusCodeToString(info.param);
                           std::erase(name, '_');
                           return name;
                         });

TEST(IngestTest, NothingOfAStreamIsStoredAfterAnEventOfItWasRefused) {
  Stored stored;
  std::atomic<bool> refuse = true;
  absl::Notification refused;
  Ingest ingest(OptionsFor({[&](const std::vector<AttemptEvents>& batch) -> absl::StatusOr<FlushStore::Result> {
    if (refuse) {
      return absl::InvalidArgumentError("no");
    }
    return stored.Flush(batch);
  }}));
  const auto bad = std::make_shared<RecordingListener>();
  Ingest::Inlet inlet = ingest.Open(1, bad);
  inlet.Push({Points(7, 1, {0, 1})});
  ASSERT_TRUE(bad->AwaitNews(1));
  refuse = false;
  inlet.Push({Points(7, 1, {2, 3})});  // Would leave a hole.
  const auto good = std::make_shared<RecordingListener>();
  ingest.Open(1, good).Push({Points(8, 1, {0})});
  ASSERT_TRUE(good->AwaitNews(1));
  EXPECT_THAT(stored.steps(7), IsEmpty());
}

TEST(IngestTest, TellsWhatACommitAsksOfOthers) {
  std::vector<int64_t> sweeps, sessions;
  absl::Notification work_appeared;
  Ingest::Options options =
      OptionsFor({[](const std::vector<AttemptEvents>& batch) -> absl::StatusOr<FlushStore::Result> {
        FlushStore::Result result;
        result.standings.resize(batch.size());
        result.sweeps_to_check = {4};
        result.drained_sessions = {5};
        return result;
      }});
  options.after = {[&](const std::vector<int64_t>& ids) { sweeps = ids; },
                   [&](const std::vector<int64_t>& ids) { sessions = ids; }, [&] { work_appeared.Notify(); }};
  Ingest ingest(options);
  ingest.Open(1, std::make_shared<RecordingListener>())
      .Push({Ended(7, 1, {.last_step = -1, .outcome = Failure{.by_worker = true}})});
  ASSERT_TRUE(work_appeared.WaitForNotificationWithTimeout(kGenerous));
  EXPECT_THAT(sweeps, ElementsAre(4));
  EXPECT_THAT(sessions, ElementsAre(5));
}

TEST(IngestTest, DrainFlushesWhatIsQueued) {
  Stored stored;
  Ingest::Options options = OptionsFor({[&](const std::vector<AttemptEvents>& batch) { return stored.Flush(batch); }});
  options.queue.limits.linger = absl::Hours(1);
  Ingest ingest(options);
  ingest.Open(1, std::make_shared<RecordingListener>()).Push({Points(7, 1, {0})});
  ingest.Drain(kGenerous);
  EXPECT_THAT(stored.steps(7), ElementsAre(0));
}

TEST(IngestTest, DrainGivesUpOnADatabaseThatIsAway) {
  std::atomic<int> calls = 0;
  absl::Notification called;
  Ingest ingest(OptionsFor({[&](const std::vector<AttemptEvents>&) -> absl::StatusOr<FlushStore::Result> {
    if (++calls == 1) {
      called.Notify();
    }
    return absl::UnavailableError("away");
  }}));
  const auto listener = std::make_shared<RecordingListener>();
  ingest.Open(1, listener).Push({Points(7, 1, {0})});
  ASSERT_TRUE(called.WaitForNotificationWithTimeout(kGenerous));
  ingest.Drain(absl::Milliseconds(10));  // Returns.
  EXPECT_THAT(listener->standings(), IsEmpty());
}

TEST(IngestTest, TwoFlushersShareTheSessionsAndKeepEachInOrder) {
  Stored first, second;
  Ingest ingest(OptionsFor({[&](const std::vector<AttemptEvents>& batch) { return first.Flush(batch); },
                            [&](const std::vector<AttemptEvents>& batch) { return second.Flush(batch); }}));
  constexpr int64_t kSessions = 8;
  constexpr int64_t kReports = 200;
  std::vector<std::shared_ptr<RecordingListener>> listeners;
  std::vector<std::thread> streams;
  for (int64_t session = 0; session < kSessions; ++session) {
    listeners.push_back(std::make_shared<RecordingListener>());
    streams.emplace_back([&ingest, session, listener = listeners.back()] {
      Ingest::Inlet inlet = ingest.Open(session, listener);
      for (int64_t report = 0; report < kReports; ++report) {
        inlet.Push({Points(session, 1, {2 * report, 2 * report + 1})});
      }
    });
  }
  for (std::thread& stream : streams) {
    stream.join();
  }
  ingest.Drain(kGenerous);
  int both = 0;
  for (int64_t session = 0; session < kSessions; ++session) {
    const std::vector<int64_t> steps = session % 2 == 0 ? first.steps(session) : second.steps(session);
    both += steps.size() == 2 * kReports && std::is_sorted(steps.begin(), steps.end());
    ASSERT_FALSE(listeners[session]->standings().empty());
    EXPECT_EQ(listeners[session]->standings().back().persisted_step, 2 * kReports - 1);
  }
  EXPECT_EQ(both, kSessions);
  EXPECT_GT(first.flushes(), 0);
  EXPECT_LT(first.flushes() + second.flushes(), kSessions * kReports);  // Merged.
}

}  // namespace
}  // namespace stepcurve
