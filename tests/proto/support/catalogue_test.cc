// SPDX-License-Identifier: Apache-2.0
#include "proto/support/catalogue.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Names(const std::vector<ParameterRow>& rows) {
  std::vector<std::string> names;
  for (const ParameterRow& row : rows) names.push_back(row.name);
  return names;
}

ParameterRow Row(const std::string& name, const std::string& schedule = "warmup_linear") {
  for (ParameterRow& row : Metaparameters({.dataset = "mnist", .model = "fc_64", .optimizer = "momentum"}, schedule)) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(CatalogueTest, SplitsAddUpToTheFiles) {
  for (const char* name : {"mnist", "fashion_mnist"}) {
    const DatasetRow* row = FindDataset(name);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->train_examples, 55'000);
    EXPECT_EQ(row->train_examples + row->val_examples, 60'000);
    EXPECT_EQ(row->test_examples, 10'000);
  }
  EXPECT_EQ(FindDataset("quadratic")->train_examples, 0) << "no epochs";
  EXPECT_EQ(FindDataset("imagenet"), nullptr);
}

TEST(CatalogueTest, FindsModelsByName) {
  EXPECT_EQ(FindModel("fc_1024_1024")->family, "fc");
  EXPECT_EQ(FindModel("simple_cnn_narrow")->family, "simple_cnn");
  EXPECT_EQ(FindModel("noisy_quadratic_100")->family, "noisy_quadratic");
  for (const char* name : {"fc", "fc_", "fc_0", "fc_064", "fc_65537", "fc_64_", "fc_a", "fc_+64", "fc_-64", "xfc_64",
                           "simple_cnn", "simple_cnn_huge", "noisy_quadratic_10", "", "resnet_8"}) {
    EXPECT_EQ(FindModel(name), nullptr) << name;
  }
}

TEST(CatalogueTest, ReadsWidths) {
  EXPECT_THAT(FullyConnectedWidths("fc_1024_64"), ElementsAre(1024, 64));
  EXPECT_THAT(FullyConnectedWidths("fc_1"), ElementsAre(1));
  EXPECT_EQ(FullyConnectedWidths("fc_2_2_2_2_2_2_2_2_2_2_2_2_2_2_2_2").size(), 16u);
  EXPECT_THAT(FullyConnectedWidths("fc_2_2_2_2_2_2_2_2_2_2_2_2_2_2_2_2_2"), IsEmpty());
}

TEST(MetaparametersTest, DependOnOptimizerScheduleAndTask) {
  const Workload sgd{.dataset = "mnist", .model = "fc_64", .optimizer = "sgd"};
  const Workload nesterov{.dataset = "mnist", .model = "fc_64", .optimizer = "nesterov_momentum"};
  const Workload quadratic{.dataset = "quadratic", .model = "noisy_quadratic", .optimizer = "momentum"};
  EXPECT_THAT(Names(Metaparameters(sgd, "constant")),
              ElementsAre("learning_rate", "weight_decay", "gradient_clip", "label_smoothing"));
  EXPECT_THAT(Names(Metaparameters(nesterov, "warmup_linear")),
              ElementsAre("learning_rate", "momentum", "warmup_steps", "weight_decay", "gradient_clip",
                          "learning_rate_decay_steps", "end_learning_rate_factor", "label_smoothing"));
  EXPECT_THAT(
      Names(Metaparameters(nesterov, "warmup_constant")),
      ElementsAre("learning_rate", "momentum", "warmup_steps", "weight_decay", "gradient_clip", "label_smoothing"));
  EXPECT_THAT(Names(Metaparameters(quadratic, "constant")), ElementsAre("learning_rate", "momentum"));
}

TEST(ParameterRowTest, KnowsItsDomain) {
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    const char* name;
    const char* domain;
    std::vector<double> inside;
    std::vector<double> outside;
  };
  const Case rows[] = {
      {"learning_rate", "(0, inf)", {1e-320, 1, 1e308}, {0, -1, inf, std::nan("")}},
      {"momentum", "[0, 1)", {0, 0.9999}, {-1e-9, 1, 2}},
      {"weight_decay", "[0, inf)", {0, 5}, {-1, inf}},
      {"label_smoothing", "[0, 1)", {0, 0.1}, {1, -0.1}},
      {"gradient_clip", "(0, inf)", {0.5}, {0, inf}},
      {"end_learning_rate_factor", "[0, 1]", {0, 1}, {1.5, -1}},
      {"learning_rate_decay_steps", "whole numbers 1 to budget", {1, 1e6}, {0, 0.5, 1.5}},
      {"warmup_steps", "whole numbers 0 to budget", {0, 7}, {-1, 2.5}},
  };
  for (const Case& row : rows) {
    const ParameterRow parameter = Row(row.name);
    EXPECT_EQ(parameter.Domain(), row.domain) << row.name;
    for (double value : row.inside) EXPECT_TRUE(parameter.Contains(value)) << row.name << " " << value;
    for (double value : row.outside) EXPECT_FALSE(parameter.Contains(value)) << row.name << " " << value;
  }
}

TEST(MetricsTest, AreByTask) {
  EXPECT_THAT(Metrics({.dataset = "fashion_mnist", .model = "fc_64", .optimizer = "sgd"}),
              ElementsAre("train/classification_error", "train/cross_entropy_error", "val/classification_error",
                          "val/cross_entropy_error", "test/classification_error", "test/cross_entropy_error"));
  EXPECT_THAT(Metrics({.dataset = "quadratic", .model = "noisy_quadratic", .optimizer = "sgd"}),
              ElementsAre("train/loss", "val/loss"));
  EXPECT_TRUE(LargerIsBetter("val/average_precision"));
  EXPECT_FALSE(LargerIsBetter("val/classification_error"));
}

TEST(NearestNamesTest, AreTheThreeWithTheFewestEdits) {
  const std::vector<std::string> known = {"mnist", "fashion_mnist", "quadratic", "cifar_10"};
  EXPECT_EQ(NearestNames("mnits", known)[0], "mnist");
  EXPECT_EQ(NearestNames("fashion_mnits", known)[0], "fashion_mnist");
  EXPECT_EQ(NearestNames("", known).size(), 3u);
  EXPECT_THAT(NearestNames("x", {}), IsEmpty());
}

TEST(WorkloadTest, AddressAndIdentity) {
  const Workload workload{.dataset = "mnist",
                          .data = {{"augmentation", std::string("flip")}, {"size", int64_t{28}}},
                          .model = "fc_64",
                          .options = {{"bias", false}, {"scale", 0.1}},
                          .optimizer = "sgd",
                          .variant = "v1"};
  EXPECT_EQ(WorkloadAddress(workload), "mnist/fc_64/sgd@v1");
  EXPECT_EQ(WorkloadIdentity(workload), "mnist{augmentation=flip,size=28}/fc_64{bias=false,scale=0.1}/sgd");
  EXPECT_EQ(WorkloadIdentity({.dataset = "mnist", .model = "fc_64", .optimizer = "sgd"}), "mnist{}/fc_64{}/sgd");
}

}  // namespace
}  // namespace stepcurve
