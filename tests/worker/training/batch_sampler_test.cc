// SPDX-License-Identifier: Apache-2.0
#include "worker/training/batch_sampler.h"

#include <cstdint>
#include <map>
#include <vector>

#include <ATen/ATen.h>

#include "gtest/gtest.h"

namespace stepcurve {
namespace {

std::vector<int64_t> ToVector(const at::Tensor& indices) {
  return {indices.data_ptr<int64_t>(), indices.data_ptr<int64_t>() + indices.numel()};
}

// What `batches` batches hold, one after another.
std::vector<int64_t> Draw(const BatchSampler::Options& options, int64_t batches) {
  BatchSampler sampler(options);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < batches; ++i) {
    const std::vector<int64_t> batch = ToVector(sampler.Next());
    EXPECT_EQ(batch.size(), static_cast<size_t>(options.batch_size));
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

struct Case {
  const char* name;
  int64_t examples;
  int64_t batch_size;
};

class BatchSamplerTest : public ::testing::TestWithParam<Case> {};

TEST_P(BatchSamplerTest, EveryEpochHoldsEveryExampleOnceAndEveryBatchIsFull) {
  const auto& [name, examples, batch_size] = GetParam();
  const int64_t batches = (5 * examples + batch_size - 1) / batch_size;
  const std::vector<int64_t> drawn = Draw({.examples = examples, .batch_size = batch_size, .seed = 3}, batches);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    std::map<int64_t, int> times;
    for (int64_t i = 0; i < examples; ++i) ++times[drawn[static_cast<size_t>(epoch * examples + i)]];
    EXPECT_EQ(times.size(), static_cast<size_t>(examples)) << "epoch " << epoch;
    EXPECT_EQ(times.begin()->first, 0);
    EXPECT_EQ(times.rbegin()->first, examples - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BatchSamplerTest,
                         ::testing::Values(Case{"One", 10, 1}, Case{"Divides", 12, 4}, Case{"LeavesAShortBatch", 10, 3},
                                           Case{"MoreThanHalf", 10, 7}, Case{"AllButOne", 10, 9}, Case{"All", 10, 10},
                                           Case{"AsInEarnest", 55'000, 8'192}),
                         [](const auto& info) { return info.param.name; });

TEST(BatchSamplerTest, TheSeedDecidesAndTheBatchSizeDoesNot) {
  const std::vector<int64_t> one = Draw({.examples = 100, .batch_size = 10, .seed = 5}, 30);
  EXPECT_EQ(one, Draw({.examples = 100, .batch_size = 10, .seed = 5}, 30));
  EXPECT_EQ(one, Draw({.examples = 100, .batch_size = 15, .seed = 5}, 20));
  EXPECT_NE(one, Draw({.examples = 100, .batch_size = 10, .seed = 6}, 30));
}

TEST(BatchSamplerTest, EpochsDifferInOrder) {
  const std::vector<int64_t> drawn = Draw({.examples = 50, .batch_size = 50, .seed = 1}, 2);
  EXPECT_NE(std::vector<int64_t>(drawn.begin(), drawn.begin() + 50),
            std::vector<int64_t>(drawn.begin() + 50, drawn.end()));
}

}  // namespace
}  // namespace stepcurve
