// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/recurring.h"

#include <atomic>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

constexpr absl::Duration kGenerous = absl::Seconds(30);

TEST(RecurringTest, RunsAtOnceAndAfterTheWait) {
  std::atomic<int> runs = 0;
  absl::Notification third;
  Recurring recurring([&] {
    if (++runs == 3) {
      third.Notify();
    }
    return absl::Milliseconds(1);
  });
  EXPECT_TRUE(third.WaitForNotificationWithTimeout(kGenerous));
}

TEST(RecurringTest, WakeCutsAnEndlessWait) {
  std::atomic<int> runs = 0;
  absl::Notification first, second;
  Recurring recurring([&] {
    if (++runs == 1) {
      first.Notify();
    } else if (runs == 2) {
      second.Notify();
    }
    return absl::InfiniteDuration();
  });
  ASSERT_TRUE(first.WaitForNotificationWithTimeout(kGenerous));
  recurring.Wake();
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(kGenerous));
}

TEST(RecurringTest, AWakeDuringARunIsNotLost) {
  std::atomic<int> runs = 0;
  absl::Notification running, woken, second;
  Recurring recurring([&] {
    if (++runs == 1) {
      running.Notify();
      woken.WaitForNotification();
    } else if (runs == 2) {
      second.Notify();
    }
    return absl::InfiniteDuration();
  });
  ASSERT_TRUE(running.WaitForNotificationWithTimeout(kGenerous));
  recurring.Wake();
  woken.Notify();
  EXPECT_TRUE(second.WaitForNotificationWithTimeout(kGenerous));
}

TEST(RecurringTest, StopEndsAnEndlessWait) {
  Recurring recurring([] { return absl::InfiniteDuration(); });
  recurring.Stop();
  recurring.Stop();
  recurring.Wake();
}

}  // namespace
}  // namespace stepcurve
