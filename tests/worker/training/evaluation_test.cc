// SPDX-License-Identifier: Apache-2.0
#include "worker/training/evaluation.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

bool Never() { return false; }

// Answers with its input, so that a test says the scores.
class Echo final : public Model {
 public:
  at::Tensor Logits(const at::Tensor& images) const override {
    ++passes_;
    EXPECT_FALSE(at::GradMode::is_enabled());
    return images;
  }
  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  int64_t pass_examples() const override { return 1'000; }
  int passes() const { return passes_; }

 private:
  mutable int passes_ = 0;
  std::vector<at::Tensor> parameters_;
};

TEST(EvaluateTest, EveryCountOfErrorsIsTheNearestDoubleToItsShare) {
  // Example i has label 0 and scores that favour class 1 when i < wrong.
  const at::Tensor labels = at::zeros({5'000}, at::kLong);
  at::Tensor scores = at::zeros({5'000, 2});
  scores.select(1, 0).fill_(1);
  float* values = scores.data_ptr<float>();
  for (int wrong = 0; wrong <= 5'000; ++wrong) {
    if (wrong > 0) values[2 * (wrong - 1) + 1] = 2;
    const auto score = Evaluate(Echo(), {.images = scores, .labels = labels}, 1'024, &Never);
    ASSERT_TRUE(score.has_value());
    ASSERT_EQ(score->wrong, wrong);
    // The decimal of wrong / 5000 has four digits, so the text is exact and parsing rounds to the nearest double.
    double nearest = 0;
    ASSERT_TRUE(absl::SimpleAtod(absl::StrCat(2 * wrong, "e-4"), &nearest));
    ASSERT_EQ(score->classification_error(), nearest) << wrong;
  }
}

TEST(EvaluateTest, CrossEntropyIsTheMeanOverExamplesWhateverTheParts) {
  const at::Tensor scores = at::randn({1'003, 10}).mul_(5);
  const at::Tensor labels = at::randint(0, 10, {1'003}, at::kLong);
  double expected = 0;
  int64_t wrong = 0;
  for (int64_t i = 0; i < 1'003; ++i) {
    const at::Tensor row = scores[i].to(at::kDouble);
    const int64_t label = labels[i].item<int64_t>();
    expected += (row.exp().sum().log() - row[label]).item<double>() / 1'003;
    for (int64_t k = 0; k < 10; ++k) {
      if (row[k].item<double>() > row[label].item<double>()) {
        ++wrong;
        break;
      }
    }
  }
  for (const int64_t pass : {1'003, 500, 100, 7}) {
    const Echo model;
    const auto score = Evaluate(model, {.images = scores, .labels = labels}, pass, &Never);
    EXPECT_NEAR(score->cross_entropy_error(), expected, 1e-6) << pass;
    EXPECT_EQ(score->wrong, wrong) << pass;
    EXPECT_EQ(model.passes(), (1'003 + pass - 1) / pass);
  }
}

TEST(EvaluateTest, EqualScoresAreNoKnowledge) {
  const auto score = Evaluate(Echo(), {.images = at::zeros({10, 10}), .labels = at::arange(10, at::kLong)}, 10, &Never);
  EXPECT_EQ(score->wrong, 9);
  EXPECT_NEAR(score->cross_entropy_error(), std::log(10.0), 1e-6);
}

TEST(EvaluateTest, NaNScoresAreWrongAndTheirLossIsNaN) {
  const at::Tensor scores = at::full({10, 10}, std::numeric_limits<float>::quiet_NaN());
  const auto score = Evaluate(Echo(), {.images = scores, .labels = at::zeros({10}, at::kLong)}, 10, &Never);
  EXPECT_EQ(score->classification_error(), 1.0);
  EXPECT_TRUE(std::isnan(score->cross_entropy_error()));
}

TEST(EvaluateTest, StopsBetweenTwoParts) {
  const Echo model;
  int asked = 0;
  const auto score = Evaluate(model, {.images = at::zeros({100, 10}), .labels = at::zeros({100}, at::kLong)}, 10,
                              [&] { return ++asked == 2; });
  EXPECT_FALSE(score.has_value());
  EXPECT_EQ(model.passes(), 2);
}

}  // namespace
}  // namespace stepcurve
