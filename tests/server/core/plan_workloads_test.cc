// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_workloads.h"

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PlanWorkloadsTest, ListsMultiplyInTheFilesOrder) {
  const auto workloads =
      PlanWorkloads({{.dataset = {"mnist", "fashion_mnist"}, .model = {"fc_8"}, .optimizer = {"sgd", "momentum"}},
                     {.dataset = {"quadratic"}, .model = {"noisy_quadratic"}, .optimizer = {"sgd"}}});
  ASSERT_THAT(workloads, IsOk());
  std::vector<std::string> addresses;
  for (const Workload& workload : *workloads) addresses.push_back(WorkloadAddress(workload));
  EXPECT_THAT(addresses, ElementsAre("mnist/fc_8/sgd", "mnist/fc_8/momentum", "fashion_mnist/fc_8/sgd",
                                     "fashion_mnist/fc_8/momentum", "quadratic/noisy_quadratic/sgd"));
}

class WorkloadsRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(WorkloadsRefusedTest, Names) { ExpectRefused(GoodSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, WorkloadsRefusedTest,
    ::testing::Values(
        RefusedCase{"None", [](SweepSpec& s) { s.workloads.clear(); }, "workloads", "at least one"},
        RefusedCase{"NoDataset", [](SweepSpec& s) { s.workloads[0].dataset.clear(); }, "workloads[0].dataset",
                    "required"},
        RefusedCase{"NoModel", [](SweepSpec& s) { s.workloads[0].model.clear(); }, "workloads[0].model", "required"},
        RefusedCase{"NoOptimizer", [](SweepSpec& s) { s.workloads[0].optimizer.clear(); }, "workloads[0].optimizer",
                    "required"},
        RefusedCase{"UnknownDataset", [](SweepSpec& s) { s.workloads[0].dataset = {"fashion_mnits"}; },
                    "workloads[0].dataset", "unknown data set \"fashion_mnits\"; nearest: fashion_mnist"},
        RefusedCase{"UnknownModel", [](SweepSpec& s) { s.workloads[0].model = {"simple_cnn_bse"}; },
                    "workloads[0].model", "unknown model \"simple_cnn_bse\"; nearest: simple_cnn_base"},
        RefusedCase{"UnknownOptimizer",
                    [](SweepSpec& s) {
                      s.workloads[0].optimizer = {"sgd", "sdg"};
                    },
                    "workloads[0].optimizer", "unknown optimizer \"sdg\"; nearest: sgd"},
        RefusedCase{"OtherTask", [](SweepSpec& s) { s.workloads[0].model = {"noisy_quadratic"}; }, "workloads[0].model",
                    "noisy_quadratic cannot be trained on mnist"},
        RefusedCase{"TwiceInAList",
                    [](SweepSpec& s) {
                      s.workloads[0].optimizer = {"sgd", "sgd"};
                    },
                    "workloads[0]", "mnist/fc_64/sgd is there already, in workloads[0]"},
        RefusedCase{"TwiceInTwoEntries",
                    [](SweepSpec& s) {
                      s.workloads.push_back({.dataset = {"mnist"}, .model = {"fc_64"}, .optimizer = {"sgd"}});
                    },
                    "workloads[1]", "already, in workloads[0]"},
        RefusedCase{"OnlyTheVariantDiffers",
                    [](SweepSpec& s) {
                      s.workloads.push_back(
                          {.dataset = {"mnist"}, .model = {"fc_64"}, .optimizer = {"sgd"}, .variant = "other"});
                    },
                    "workloads[1]", "already"},
        RefusedCase{"BadVariant", [](SweepSpec& s) { s.workloads[0].variant = "A b"; }, "workloads[0].variant",
                    "no name"},
        RefusedCase{"UnknownOption",
                    [](SweepSpec& s) {
                      s.workloads[0].data = {{"image_size", int64_t{224}}};
                    },
                    "workloads[0].data.image_size", "data set mnist takes no options"},
        RefusedCase{"UnknownModelOption",
                    [](SweepSpec& s) {
                      s.workloads[0].options = {{"bias", true}};
                    },
                    "workloads[0].options.bias", "model fc_64 takes no options"}),
    CaseName);

const std::vector<OptionRow>& Rows() {
  static const auto& rows = *new std::vector<OptionRow>{{"size", int64_t{28}, "1 to 64"},
                                                        {"flip", false, "true or false"},
                                                        {"noise", 0.5, "0 to 1"},
                                                        {"unit", std::string("word"), "word or sentence"}};
  return rows;
}

TEST(PlanOptionsTest, IdentityListsWhatDiffersSortedByName) {
  const auto options =
      PlanOptions({{"unit", std::string("word")}, {"size", int64_t{32}}, {"noise", int64_t{1}}, {"flip", true}}, Rows(),
                  "data set x", "p");
  ASSERT_THAT(options, IsOk());
  EXPECT_THAT(*options, ElementsAre(Option{"flip", true}, Option{"noise", 1.0}, Option{"size", int64_t{32}}));
  EXPECT_THAT(*PlanOptions({{"noise", 0.5}, {"size", int64_t{28}}}, Rows(), "data set x", "p"), IsEmpty());
}

TEST(PlanOptionsTest, RefusesUnknownOnesAndOtherTypes) {
  const auto unknown = PlanOptions({{"sise", int64_t{1}}}, Rows(), "data set x", "p");
  EXPECT_THAT(unknown, Fails(absl::StatusCode::kInvalidArgument, "data set x has no option sise (it has size, flip"));
  EXPECT_EQ(FieldOf(unknown.status()), "p.sise");
  EXPECT_THAT(PlanOptions({{"size", 1.5}}, Rows(), "x", "p"),
              Fails(absl::StatusCode::kInvalidArgument, "a whole number (1 to 64)"));
  EXPECT_THAT(PlanOptions({{"flip", std::string("yes")}}, Rows(), "x", "p"),
              Fails(absl::StatusCode::kInvalidArgument, "true or false"));
  EXPECT_THAT(PlanOptions({{"size", int64_t{1}}, {"size", int64_t{2}}}, Rows(), "x", "p"),
              Fails(absl::StatusCode::kInvalidArgument, "twice"));
}

TEST(PlanBatchSizesTest, ListsAndRanges) {
  struct Case {
    BatchSizesSpec spec;
    std::vector<int64_t> sizes;
  };
  const Case rows[] = {
      {{.sizes = {512, 2, 32}}, {2, 32, 512}},
      {{.sizes = {2}, .full = true}, {2, 55000}},
      {{.full = true}, {55000}},
      {{.range = GeometricSpec{8, 55000, 2}}, {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}},
      {{.sizes = {100}, .range = GeometricSpec{8, 130, 4}, .full = true}, {8, 32, 100, 128, 55000}},
      {{.range = GeometricSpec{64, 500, 1.5}}, {64, 96, 144, 216, 324, 486}},
      {{.range = GeometricSpec{100, 121, 1.1}}, {100, 110, 121}},
      {{.range = GeometricSpec{7, 7, 2}}, {7}},
  };
  for (const Case& row : rows) {
    const auto sizes = PlanBatchSizes(row.spec, "batch_sizes", "mnist", 55000);
    ASSERT_THAT(sizes, IsOk());
    EXPECT_EQ(*sizes, row.sizes);
  }
}

class BatchSizesRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(BatchSizesRefusedTest, Says) { ExpectRefused(SgdSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, BatchSizesRefusedTest,
    ::testing::Values(RefusedCase{"Absent", [](SweepSpec& s) { s.batch_sizes.reset(); }, "batch_sizes", "is required"},
                      RefusedCase{"Empty", [](SweepSpec& s) { s.batch_sizes->sizes.clear(); }, "batch_sizes",
                                  "is required"},
                      RefusedCase{"Zero",
                                  [](SweepSpec& s) {
                                    s.batch_sizes->sizes = {0, 512};
                                  },
                                  "batch_sizes", "0 is no batch size"},
                      RefusedCase{"Negative", [](SweepSpec& s) { s.batch_sizes->sizes = {-8}; }, "batch_sizes",
                                  "-8 is no batch size"},
                      RefusedCase{"AboveTheTrainingSet",
                                  [](SweepSpec& s) {
                                    s.batch_sizes->sizes = {64, 65536};
                                  },
                                  "batch_sizes", "65536 is above the training set of mnist (55000); write full"},
                      RefusedCase{"FarAbove", [](SweepSpec& s) { s.batch_sizes->sizes = {INT64_MAX}; }, "batch_sizes",
                                  "9223372036854775807 is above"},
                      RefusedCase{"Twice",
                                  [](SweepSpec& s) {
                                    s.batch_sizes->sizes = {64, 64};
                                  },
                                  "batch_sizes", "64 is there twice"},
                      RefusedCase{"FullTwice", [](SweepSpec& s) { *s.batch_sizes = {.sizes = {55000}, .full = true}; },
                                  "batch_sizes", "55000 is there twice; full is 55000"},
                      RefusedCase{"InRangeAndAlso",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.sizes = {16}, .range = GeometricSpec{8, 64, 2}};
                                  },
                                  "batch_sizes", "16 is there twice"},
                      RefusedCase{"NoWholeProduct",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.range = GeometricSpec{3, 100, 1.5}};
                                  },
                                  "batch_sizes.factor", "3 x 1.5 is no whole number"},
                      RefusedCase{"FactorOne",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.range = GeometricSpec{3, 100, 1}};
                                  },
                                  "batch_sizes.factor", "must be above 1"},
                      RefusedCase{"FactorOfManyDigits",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.range = GeometricSpec{3, 100, 1.0 + 1e-9}};
                                  },
                                  "batch_sizes.factor", "six decimals"},
                      RefusedCase{"FromZero",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.range = GeometricSpec{0, 100, 2}};
                                  },
                                  "batch_sizes.from", "at least 1"},
                      RefusedCase{"ToBelowFrom",
                                  [](SweepSpec& s) {
                                    *s.batch_sizes = {.range = GeometricSpec{8, 4, 2}};
                                  },
                                  "batch_sizes.to", "below from (8)"}),
    CaseName);

TEST(PlanBatchSizesTest, TheQuadraticHasNoFull) {
  ExpectRefused(QuadraticSpec(), {"", [](SweepSpec& s) { s.batch_sizes->full = true; }, "batch_sizes",
                                  "full is the whole training set, and quadratic has none"});
}

TEST(PlanBatchSizesTest, RangesReachInt64WithoutWrapping) {
  const auto sizes = PlanBatchSizes({.range = GeometricSpec{1, INT64_MAX, 2}}, "batch_sizes", "quadratic", 0);
  ASSERT_THAT(sizes, IsOk());
  EXPECT_EQ(sizes->size(), 63u);
  EXPECT_EQ(sizes->back(), int64_t{1} << 62);
}

}  // namespace
}  // namespace stepcurve
