// SPDX-License-Identifier: Apache-2.0
#include "proto/support/hash.h"

#include <array>
#include <set>

#include "gtest/gtest.h"

namespace stepcurve {
namespace {

TEST(Fnv1a64Test, HasThePublishedValues) {
  EXPECT_EQ(Fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a64("\xff"), 0xaf64724c8602eb6eu) << "bytes are unsigned";
}

TEST(SplitMix64Test, HasThePublishedValues) {
  SplitMix64 random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(SplitMix64Test, UniformsLieBelowOneWith53Bits) {
  SplitMix64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double u = random.NextUniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_EQ(u * 0x1p53, static_cast<double>(static_cast<int64_t>(u * 0x1p53)));
  }
}

TEST(SplitMix64Test, NextBelowReachesAllAndNothingElse) {
  SplitMix64 random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 7'000; ++i) ++counts.at(random.NextBelow(7));
  for (int count : counts) EXPECT_NEAR(count, 1'000, 150);
  EXPECT_EQ(random.NextBelow(1), 0u);
}

// A change here changes the points and seeds of every sweep.
TEST(KeyTest, AreGolden) {
  EXPECT_EQ(SequenceKey(1, "mnist{}/fc_64{}/sgd", 32, ""), 0xcf4a2d5b07647fa3u);
  EXPECT_EQ(SequenceKey(1, "mnist{}/fc_64{}/sgd", 0, "0.1"), 0xc072a82e713eee65u);
  EXPECT_EQ(TrainingSeed(1, "mnist{}/fc_64{}/sgd", 32, 17, 0), 0x20602722daf4e654u);
}

TEST(KeyTest, DifferInEachPart) {
  const std::set<uint64_t> keys = {SequenceKey(1, "w", 2, ""),     SequenceKey(2, "w", 2, ""),
                                   SequenceKey(1, "v", 2, ""),     SequenceKey(1, "w", 3, ""),
                                   SequenceKey(1, "w", 2, "0.1"),  TrainingSeed(1, "w", 2, 3, 0),
                                   TrainingSeed(1, "w", 2, 4, 0),  TrainingSeed(1, "w", 2, 3, 1),
                                   TrainingSeed(1, "w", 23, 0, 0), TrainingSeed(1, "w", 2, 30, 0)};
  EXPECT_EQ(keys.size(), 10u);
}

}  // namespace
}  // namespace stepcurve
