// SPDX-License-Identifier: Apache-2.0
#include "worker/data/image_data.h"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "worker/data/permutation.h"

namespace stepcurve {
namespace {

// Files that say of every example which one it is: its first two pixels and its label come from its number.
ImageFiles NumberedFiles() {
  const auto images = [](int64_t count) {
    std::string bytes(static_cast<size_t>(count * kImagePixels), '\0');
    for (int64_t i = 0; i < count; ++i) {
      bytes[static_cast<size_t>(i * kImagePixels)] = static_cast<char>(i / 256);
      bytes[static_cast<size_t>(i * kImagePixels + 1)] = static_cast<char>(i % 256);
    }
    return bytes;
  };
  const auto labels = [](int64_t count) {
    std::string bytes(static_cast<size_t>(count), '\0');
    for (int64_t i = 0; i < count; ++i) bytes[static_cast<size_t>(i)] = static_cast<char>(i % 10);
    return bytes;
  };
  constexpr int64_t kTrainFile = kTrainImages + kValidationImages;
  return {.fingerprint = "f",
          .train_images = images(kTrainFile),
          .train_labels = labels(kTrainFile),
          .test_images = images(kTestImages),
          .test_labels = labels(kTestImages)};
}

// The number that example `i` of a split says it has.
int64_t Number(const Examples& examples, int64_t i) {
  const at::Tensor pixels = examples.images[i];
  return std::llround(pixels[0].item<float>() * 255) * 256 + std::llround(pixels[1].item<float>() * 255);
}

TEST(ImageDataTest, LastFiveThousandOfTheTrainingFileValidate) {
  const ImageData data = MoveToDevice("mnist", NumberedFiles(), at::kCPU);
  EXPECT_EQ(data.train.size(), 55'000);
  EXPECT_EQ(data.val.size(), 5'000);
  EXPECT_EQ(data.test.size(), 10'000);
  EXPECT_EQ(Number(data.train, 0), 0);
  EXPECT_EQ(Number(data.train, 54'999), 54'999);
  EXPECT_EQ(Number(data.val, 0), 55'000);
  EXPECT_EQ(Number(data.val, 4'999), 59'999);
  EXPECT_EQ(Number(data.test, 9'999), 9'999);
  EXPECT_EQ(data.val.labels[7].item<int64_t>(), 7);
}

TEST(ImageDataTest, PixelsAreFloatsFromZeroToOne) {
  ImageFiles files = NumberedFiles();
  files.test_images[2] = '\xff';
  files.test_images[3] = '\x33';
  const ImageData data = MoveToDevice("mnist", files, at::kCPU);
  EXPECT_EQ(data.test.images.scalar_type(), at::kFloat);
  EXPECT_EQ(data.test.images[0][2].item<float>(), 1.0f);
  EXPECT_EQ(data.test.images[0][3].item<float>(), 0.2f);
  EXPECT_EQ(data.test.images[0][4].item<float>(), 0.0f);
}

TEST(ImageDataTest, TrainSampleIsFixedWithoutRepetitionAndGrowsFromWithin) {
  const ImageData data = MoveToDevice("mnist", NumberedFiles(), at::kCPU);
  const Examples small = TrainSample(data, 100);
  const Examples large = TrainSample(data, 1'000);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < large.size(); ++i) {
    numbers.push_back(Number(large, i));
    EXPECT_EQ(large.labels[i].item<int64_t>(), numbers.back() % 10);
    if (i < small.size()) {
      EXPECT_EQ(Number(small, i), numbers.back());
    }
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
  EXPECT_GT(numbers.back(), 50'000);  // From the whole set, not from its beginning.
  EXPECT_EQ(TrainSample(data, 0).size(), 55'000);
  EXPECT_EQ(TrainSample(data, 60'000).size(), 55'000);
}

TEST(PermutationTest, HoldsEveryNumberOnceAndDependsOnTheSeed) {
  SplitMix64 one(1);
  SplitMix64 two(2);
  const std::vector<int64_t> first = Permutation(1'000, one);
  const std::vector<int64_t> next = Permutation(1'000, one);
  const std::vector<int64_t> other = Permutation(1'000, two);
  EXPECT_NE(first, next);
  EXPECT_NE(first, other);
  for (std::vector<int64_t> order : {first, next, other}) {
    std::sort(order.begin(), order.end());
    for (int64_t i = 0; i < 1'000; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
  }
}

TEST(PermutationTest, EveryOrderIsAboutAsFrequent) {
  SplitMix64 random(7);
  std::vector<int> count(6);
  for (int i = 0; i < 60'000; ++i) {
    const std::vector<int64_t> order = Permutation(3, random);
    ++count[static_cast<size_t>(order[0] * 2 + (order[1] > order[2]))];
  }
  for (const int c : count) EXPECT_NEAR(c, 10'000, 500);  // More than five standard errors.
}

}  // namespace
}  // namespace stepcurve
