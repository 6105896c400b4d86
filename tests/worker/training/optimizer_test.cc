// SPDX-License-Identifier: Apache-2.0
#include "worker/training/optimizer.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "gtest/gtest.h"
#include "proto/support/catalogue.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

struct Case {
  std::string name;
  OptimizerSettings settings;
};

// The formulas of the header for one parameter on the loss (x - 3)^2 / 2, whose gradient is x - 3; the rates differ by
// step.
std::vector<double> ByHand(const OptimizerSettings& s, double x, int steps) {
  std::vector<double> path;
  double v = 0;
  for (int step = 0; step < steps; ++step) {
    const double rate = 0.1 / (1 + step);
    const double g = (x - 3) + s.weight_decay * x;
    v = s.momentum * v + g;
    x -= rate * (s.nesterov ? g + s.momentum * v : v);
    path.push_back(x);
  }
  return path;
}

class OptimizerTest : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizerTest, FollowsPyTorchsFormulasInBothPrecisions) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    // Sizes below, at and above what one thread takes at once.
    const std::vector<at::Tensor> parameters = {at::full({3}, 1.0, type).requires_grad_(true),
                                                at::full({40'000, 2}, -2.0, type).requires_grad_(true)};
    Optimizer optimizer(GetParam().settings, parameters);
    const std::vector<double> first = ByHand(GetParam().settings, 1, 10);
    const std::vector<double> second = ByHand(GetParam().settings, -2, 10);
    for (size_t step = 0; step < 10; ++step) {
      for (const at::Tensor& parameter : parameters) parameter.mutable_grad() = parameter.detach() - 3;
      optimizer.Step(0.1 / static_cast<double>(1 + step));
      const double tolerance = type == at::kFloat ? 1e-6 : 1e-14;
      EXPECT_NEAR(parameters[0].min().item<double>(), first[step], tolerance);
      EXPECT_NEAR(parameters[0].max().item<double>(), first[step], tolerance);
      EXPECT_NEAR(parameters[1].min().item<double>(), second[step], tolerance);
      EXPECT_NEAR(parameters[1].max().item<double>(), second[step], tolerance);
      EXPECT_FALSE(parameters[0].grad().defined());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerTest,
    ::testing::Values(Case{"Sgd", {}}, Case{"SgdDecay", {.weight_decay = 0.1}}, Case{"Momentum", {.momentum = 0.9}},
                      Case{"MomentumDecay", {.momentum = 0.9, .weight_decay = 0.1}},
                      Case{"Nesterov", {.momentum = 0.9, .nesterov = true}},
                      Case{"NesterovDecay", {.momentum = 0.9, .nesterov = true, .weight_decay = 0.1}}),
    [](const auto& info) { return info.param.name; });

TEST(OptimizerTest, TransposedGradientIsTakenAsItIs) {
  const std::vector<at::Tensor> parameters = {at::zeros({2, 3}).requires_grad_(true)};
  Optimizer optimizer({}, parameters);
  const at::Tensor gradient = at::arange(6, at::kFloat).reshape({3, 2}).t();
  parameters[0].mutable_grad() = gradient;
  optimizer.Step(1);
  EXPECT_TRUE(at::equal(parameters[0], -gradient));
}

TEST(OptimizerEntriesTest, AreThoseOfTheCatalogue) {
  std::vector<std::string> here;
  for (const OptimizerEntry& entry : OptimizerEntries()) here.emplace_back(entry.name);
  std::vector<std::string> catalogue;
  for (const OptimizerRow& row : Optimizers()) catalogue.push_back(row.name);
  EXPECT_EQ(here, catalogue);
}

TEST(MakeOptimizerSettingsTest, ReadsWhatTheOptimizerHas) {
  TrialRun run;
  run.parameters = {{"momentum", 0.7}, {"weight_decay", 0.01}};
  run.workload.optimizer = "sgd";
  EXPECT_EQ(MakeOptimizerSettings(run)->momentum, 0);
  EXPECT_EQ(MakeOptimizerSettings(run)->weight_decay, 0.01);
  run.workload.optimizer = "nesterov_momentum";
  EXPECT_EQ(MakeOptimizerSettings(run)->momentum, 0.7);
  EXPECT_TRUE(MakeOptimizerSettings(run)->nesterov);
  run.workload.optimizer = "momentum";
  EXPECT_FALSE(MakeOptimizerSettings(run)->nesterov);
  run.workload.optimizer = "adam";
  EXPECT_THAT(MakeOptimizerSettings(run), Fails(absl::StatusCode::kInvalidArgument, "optimizer is adam"));
}

}  // namespace
}  // namespace stepcurve
