// SPDX-License-Identifier: Apache-2.0
#include "worker/training/gradient.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "gtest/gtest.h"
#include "tests/worker/training/small_run.h"
#include "worker/training/batch_sampler.h"
#include "worker/workloads/registry.h"

namespace stepcurve {
namespace {

bool Never() { return false; }

std::unique_ptr<Model> DoubleModel(const std::string& name) {
  return std::move(MakeModel(name, {.seed = 1, .type = at::kDouble})).value();
}

Examples DoubleExamples() {
  return {.images = SmallFashion().train.images.to(at::kDouble), .labels = SmallFashion().train.labels};
}

struct Gradient {
  double loss;
  std::vector<at::Tensor> parts;
};

Gradient GradientOf(const std::string& model_name, int64_t batch_size, const GradientOptions& options) {
  const std::unique_ptr<Model> model = DoubleModel(model_name);
  BatchSampler sampler({.examples = 2'000, .batch_size = batch_size, .seed = 2});
  const auto loss = ComputeGradient(*model, DoubleExamples(), sampler.Next(), options, &Never);
  Gradient gradient{.loss = loss->item<double>()};
  for (const at::Tensor& parameter : model->parameters()) gradient.parts.push_back(parameter.grad());
  return gradient;
}

struct Case {
  const char* name;
  const char* model;
  int64_t batch_size;
  int64_t pass_examples;
  double label_smoothing;
};

class PartsTest : public ::testing::TestWithParam<Case> {};

TEST_P(PartsTest, GiveTheGradientOfTheMeanOverTheWholeBatch) {
  const Case& c = GetParam();
  const Gradient whole =
      GradientOf(c.model, c.batch_size, {.label_smoothing = c.label_smoothing, .pass_examples = 2'000});
  const Gradient parts =
      GradientOf(c.model, c.batch_size, {.label_smoothing = c.label_smoothing, .pass_examples = c.pass_examples});
  EXPECT_NEAR(parts.loss, whole.loss, 1e-12);
  for (size_t i = 0; i < whole.parts.size(); ++i) {
    const double scale = whole.parts[i].abs().max().item<double>();
    EXPECT_GT(scale, 0);
    EXPECT_LT((parts.parts[i] - whole.parts[i]).abs().max().item<double>(), 1e-6 * scale) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PartsTest,
                         ::testing::Values(Case{"EvenParts", "fc_32", 64, 16, 0},
                                           Case{"UnevenParts", "fc_32", 65, 16, 0}, Case{"OneByOne", "fc_32", 7, 1, 0},
                                           Case{"Smoothed", "fc_32", 65, 16, 0.1},
                                           Case{"WholeTrainingSet", "fc_32_16", 2'000, 300, 0},
                                           Case{"Convolutions", "simple_cnn_narrow", 23, 5, 0},
                                           Case{"ConvolutionsOneByOne", "simple_cnn_narrow", 3, 1, 0}),
                         [](const auto& info) { return info.param.name; });

TEST(ComputeGradientTest, StopsBetweenTwoParts) {
  const std::unique_ptr<Model> model = DoubleModel("fc_8");
  BatchSampler sampler({.examples = 2'000, .batch_size = 100, .seed = 2});
  int asked = 0;
  const auto loss =
      ComputeGradient(*model, DoubleExamples(), sampler.Next(), {.pass_examples = 10}, [&] { return ++asked == 3; });
  EXPECT_FALSE(loss.has_value());
  EXPECT_EQ(asked, 3);
}

TEST(ComputeGradientTest, LabelSmoothingMixesTheLabelWithAllClasses) {
  // (1 - e) x loss of the label + e x mean loss over all classes, computed by hand.
  const std::unique_ptr<Model> model = DoubleModel("fc_8");
  BatchSampler sampler({.examples = 2'000, .batch_size = 50, .seed = 2});
  const at::Tensor batch = sampler.Next();
  const Examples examples = DoubleExamples();
  const auto loss = ComputeGradient(*model, examples, batch, {.label_smoothing = 0.2, .pass_examples = 50}, &Never);
  at::NoGradGuard no_grad;
  const at::Tensor log_p = at::log_softmax(model->Logits(examples.images.index_select(0, batch)), 1);
  double expected = 0;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t label = examples.labels[batch[i].item<int64_t>()].item<int64_t>();
    for (int64_t k = 0; k < 10; ++k) {
      expected -= log_p[i][k].item<double>() * ((k == label ? 0.8 : 0) + 0.02) / 50;
    }
  }
  EXPECT_NEAR(loss->item<double>(), expected, 1e-12);
}

double Norm(const Model& model) {
  double squares = 0;
  for (const at::Tensor& parameter : model.parameters()) squares += parameter.grad().square().sum().item<double>();
  return std::sqrt(squares);
}

TEST(ClipGradientTest, LongGradientKeepsItsDirectionAndShortOneItself) {
  const std::unique_ptr<Model> model = DoubleModel("fc_8");
  BatchSampler sampler({.examples = 2'000, .batch_size = 50, .seed = 2});
  ASSERT_TRUE(ComputeGradient(*model, DoubleExamples(), sampler.Next(), {.pass_examples = 50}, &Never).has_value());
  const double norm = Norm(*model);
  std::vector<at::Tensor> before;
  for (const at::Tensor& parameter : model->parameters()) before.push_back(parameter.grad().clone());

  ClipGradient(*model, norm * 1.5);
  EXPECT_DOUBLE_EQ(Norm(*model), norm);

  ClipGradient(*model, norm / 4);
  EXPECT_NEAR(Norm(*model), norm / 4, 1e-5 * norm);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(at::allclose(model->parameters()[i].grad(), before[i] / 4, 1e-5)) << i;
  }
}

}  // namespace
}  // namespace stepcurve
