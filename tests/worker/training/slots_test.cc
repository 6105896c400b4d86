// SPDX-License-Identifier: Apache-2.0
#include "worker/training/slots.h"

#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

TrialRun Numbered(int64_t trial) {
  TrialRun run;
  run.trial = trial;
  return run;
}

// Notes which trials ran where; a trial below 0 runs until it is stopped.
class Recorder final {
 public:
  void Run(int slot, const TrialRun& run, const std::atomic<bool>& stop) {
    while (run.trial < 0 && !stop) std::this_thread::yield();
    absl::MutexLock lock(&mu_);
    ended_.emplace_back(slot, run.trial);
  }
  // Whether as many trials have ended, waiting for it.
  bool Ended(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ended_.size() >= count; };
    return mu_.AwaitWithTimeout(absl::Condition(&enough), kPatience);
  }
  std::vector<std::pair<int, int64_t>> ended() {
    absl::MutexLock lock(&mu_);
    return ended_;
  }

 private:
  absl::Mutex mu_;
  std::vector<std::pair<int, int64_t>> ended_ ABSL_GUARDED_BY(mu_);
};

Slots::RunTrial To(Recorder& recorder) {
  return [&recorder](int slot, const TrialRun& run, const std::atomic<bool>& stop) { recorder.Run(slot, run, stop); };
}

TEST(SlotsTest, ASlotRunsOneTrialAfterAnother) {
  Recorder recorder;
  Slots slots(1, To(recorder));
  for (const int64_t trial : {1, 2, 3}) {
    slots.Assign(0, Numbered(trial));
    ASSERT_TRUE(recorder.Ended(static_cast<size_t>(trial)));
  }
  EXPECT_EQ(recorder.ended(), (std::vector<std::pair<int, int64_t>>{{0, 1}, {0, 2}, {0, 3}}));
}

TEST(SlotsTest, SlotsDoNotWaitForEachOther) {
  Recorder recorder;
  Slots slots(2, To(recorder));
  slots.Assign(0, Numbered(-1));
  slots.Assign(1, Numbered(7));
  ASSERT_TRUE(recorder.Ended(1));
  EXPECT_EQ(recorder.ended(), (std::vector<std::pair<int, int64_t>>{{1, 7}}));
  slots.Stop(0);
  EXPECT_TRUE(recorder.Ended(2));
}

TEST(SlotsTest, StopReachesTheLatestTrialAndNotTheNext) {
  Recorder recorder;
  Slots slots(1, To(recorder));
  slots.Stop(0);  // Nothing to stop.
  slots.Assign(0, Numbered(-1));
  slots.Stop(0);
  ASSERT_TRUE(recorder.Ended(1));
  slots.Assign(0, Numbered(-2));
  EXPECT_EQ(recorder.ended().size(), 1u);
  slots.Stop(0);
  EXPECT_TRUE(recorder.Ended(2));
}

TEST(SlotsTest, EndStopsWhatRuns) {
  Recorder recorder;
  {
    Slots slots(3, To(recorder));
    slots.Assign(0, Numbered(-1));
    slots.Assign(2, Numbered(-2));
  }
  EXPECT_LE(recorder.ended().size(), 2u);  // Back here at all.
}

}  // namespace
}  // namespace stepcurve
