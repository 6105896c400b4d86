// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/registry.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "gtest/gtest.h"
#include "proto/support/catalogue.h"
#include "tests/support/status_matchers.h"
#include "tests/worker/training/small_run.h"

namespace stepcurve {
namespace {

std::unique_ptr<Model> Make(const std::string& name, const ModelSettings& settings = {.seed = 1}) {
  return std::move(MakeModel(name, settings)).value();
}

struct Size {
  std::string name;
  int64_t parameters;
};

class ParameterCountTest : public ::testing::TestWithParam<Size> {};

TEST_P(ParameterCountTest, IsThePublishedOne) {
  const std::unique_ptr<Model> model = Make(GetParam().name);
  int64_t count = 0;
  for (const at::Tensor& parameter : model->parameters()) count += parameter.numel();
  EXPECT_EQ(count, GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    All, ParameterCountTest,
    ::testing::Values(Size{"fc_1024", 814'090}, Size{"fc_1024_1024", 1'863'690}, Size{"fc_1024_1024_1024", 2'913'290},
                      Size{"fc_64_64_64", 59'210}, Size{"fc_128_128_128", 134'794}, Size{"fc_256_256_256", 335'114},
                      Size{"fc_512_512_512", 932'362}, Size{"fc_2048_2048_2048", 10'020'874},
                      // (25 + 1) 32 + (25 x 32 + 1) 64 + (49 x 64 + 1) 1024 + (1024 + 1) 10, and with other widths.
                      Size{"simple_cnn_base", 832 + 51'264 + 3'212'288 + 10'250},
                      Size{"simple_cnn_narrow", 416 + 12'832 + 803'328 + 5'130},
                      Size{"simple_cnn_wide", 1'664 + 204'928 + 12'847'104 + 20'490}),
    [](const auto& info) { return info.param.name; });

// One model of every row.
const std::map<std::string, std::string>& Examples() {
  static const auto& examples =
      *new std::map<std::string, std::string>{{"fc", "fc_32_16"}, {"simple_cnn", "simple_cnn_narrow"}};
  return examples;
}

TEST(ModelEntriesTest, EveryRowBuildsStepsAndEvaluates) {
  for (const ModelEntry& entry : ModelEntries()) {
    const auto example = Examples().find(std::string(entry.family));
    ASSERT_NE(example, Examples().end()) << entry.family;
    ASSERT_NE(FindModel(example->second), nullptr);
    EXPECT_EQ(FindModel(example->second)->family, entry.family);
    TrialRun run = SmallRun();
    run.workload.model = example->second;
    run.budget_steps = 1;
    const Report report = TrainHere(run);
    EXPECT_EQ(report.end.kind, RunEnd::Kind::kComplete) << report.end.message;
    EXPECT_EQ(report.rows.size(), 2u);
    EXPECT_NE(report.rows[0].values[1], report.rows[1].values[1]);
  }
}

TEST(ModelEntriesTest, EveryClassifierOfTheCatalogueHasARow) {
  for (const ModelRow& row : Models()) {
    if (row.tasks != std::vector<Task>{Task::kClassification}) continue;
    EXPECT_TRUE(Examples().count(row.family)) << row.family;
  }
}

TEST(MakeModelTest, UnknownNamesAreRefused) {
  for (const char* name : {"resnet_8", "fc_", "fc_0", "fc_1_x", "simple_cnn_huge", "simple_cnn_", "fc", ""}) {
    EXPECT_THAT(MakeModel(name, {}), Fails(absl::StatusCode::kInvalidArgument, "model is ")) << name;
  }
}

TEST(InitialWeightsTest, DependOnTheSeedAloneAndFillTheirRange) {
  for (const char* name : {"fc_300", "simple_cnn_narrow"}) {
    const auto one = Make(name, {.seed = 5});
    const auto same = Make(name, {.seed = 5});
    const auto other = Make(name, {.seed = 6});
    for (size_t i = 0; i < one->parameters().size(); ++i) {
      const at::Tensor& values = one->parameters()[i];
      EXPECT_TRUE(at::equal(values, same->parameters()[i]));
      if (values.dim() == 1) {
        EXPECT_EQ(values.abs().max().item<float>(), 0);  // Biases.
        continue;
      }
      EXPECT_FALSE(at::equal(values, other->parameters()[i]));
      const double receptive = values.dim() == 4 ? 25 : 1;
      const double limit = std::sqrt(6 / (receptive * static_cast<double>(values.size(0) + values.size(1))));
      EXPECT_LE(values.abs().max().item<float>(), limit * 1.0001);
      EXPECT_GT(values.abs().max().item<float>(), limit * 0.97);
      // Uniform: standard deviation limit / sqrt(3), mean 0 within five standard errors.
      const double n = static_cast<double>(values.numel());
      EXPECT_NEAR(values.std().item<double>(), limit / std::sqrt(3), limit * 3 / std::sqrt(n));
      EXPECT_NEAR(values.mean().item<double>(), 0, 5 * limit / std::sqrt(3 * n));
    }
  }
}

TEST(SimpleCnnTest, PoolingBeforeReluGivesTheValuesAndGradientsOfReluBeforePooling) {
  const auto model = Make("simple_cnn_base", {.seed = 3, .type = at::kDouble});
  const at::Tensor images = SmallFashion().train.images.narrow(0, 0, 8).to(at::kDouble);
  const at::Tensor labels = SmallFashion().train.labels.narrow(0, 0, 8);
  at::cross_entropy_loss(model->Logits(images), labels).backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model->parameters()) {
    gradients.push_back(parameter.grad());
    parameter.mutable_grad().reset();
  }

  const std::vector<at::Tensor>& p = model->parameters();
  at::Tensor x = images.view({-1, 1, 28, 28});
  x = at::max_pool2d(at::conv2d(x, p[0], p[1], 1, 2).relu(), {2, 2});
  x = at::max_pool2d(at::conv2d(x, p[2], p[3], 1, 2).relu(), {2, 2});
  const at::Tensor logits = at::linear(at::linear(x.flatten(1), p[4], p[5]).relu(), p[6], p[7]);
  EXPECT_TRUE(at::allclose(logits, model->Logits(images), 1e-12, 1e-14));
  at::cross_entropy_loss(logits, labels).backward();
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_TRUE(at::allclose(p[i].grad(), gradients[i], 1e-10, 1e-14)) << i;
  }
}

}  // namespace
}  // namespace stepcurve
