// SPDX-License-Identifier: Apache-2.0
#include "worker/training/loss_log.h"

#include <limits>

#include <ATen/ATen.h>

#include "gtest/gtest.h"

namespace stepcurve {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void Add(LossLog& log, double loss) { log.Add(at::scalar_tensor(loss, at::kFloat)); }

TEST(LossLogTest, StepsCountFromOneThroughEveryLook) {
  LossLog log(at::kCPU);
  EXPECT_EQ(log.FirstNonFinite(), std::nullopt);
  for (int i = 0; i < 3; ++i) Add(log, 1.5);
  EXPECT_EQ(log.FirstNonFinite(), std::nullopt);
  Add(log, 2.5);
  Add(log, kNaN);       // Step 5.
  Add(log, kInfinity);  // Step 6.
  EXPECT_EQ(log.FirstNonFinite(), 5);
}

TEST(LossLogTest, EveryKindOfNonFiniteCountsAndHugeDoesNot) {
  for (const double loss : {kNaN, kInfinity, -kInfinity}) {
    LossLog log(at::kCPU);
    Add(log, 3e38);
    Add(log, loss);
    EXPECT_EQ(log.FirstNonFinite(), 2) << loss;
  }
}

TEST(LossLogTest, FillsUpAndIsEmptiedByALook) {
  LossLog log(at::kCPU);
  int steps = 0;
  while (!log.full()) {
    Add(log, 0);
    ++steps;
  }
  EXPECT_EQ(log.FirstNonFinite(), std::nullopt);
  EXPECT_FALSE(log.full());
  Add(log, kNaN);
  EXPECT_EQ(log.FirstNonFinite(), steps + 1);
}

}  // namespace
}  // namespace stepcurve
