// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_budget.h"

#include "server/core/decimal.h"
#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

struct BudgetCase {
  const char* name;
  BudgetSpec budget;
  int64_t batch_size;
  int64_t steps;
};

void PrintTo(const BudgetCase& row, std::ostream* out) { *out << row.name; }

class BudgetTest : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(BudgetTest, ComesTo) {
  SweepSpec spec = SgdSpec();
  spec.budget = GetParam().budget;
  spec.batch_sizes->sizes = {GetParam().batch_size};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->studies[0].definition.budget_steps, GetParam().steps);
}

INSTANTIATE_TEST_SUITE_P(
    All, BudgetTest,
    ::testing::Values(BudgetCase{"Steps", {.steps = 7}, 32, 7}, BudgetCase{"Epochs", {.epochs = 4}, 2, 110'000},
                      BudgetCase{"EpochsRoundUp", {.epochs = 1}, 32, 1719},
                      BudgetCase{"OneStepAtLeast", {.epochs = 1e-6}, 512, 1},
                      // In doubles 0.07 x 55,000 is above 3,850.
                      BudgetCase{"DecimalsAreExact", {.epochs = 0.07}, 1, 3850},
                      BudgetCase{"DecimalsAreExactEverywhere", {.epochs = 0.1}, 50, 110},
                      BudgetCase{"Thirds", {.epochs = 1.0 / 3}, 55'000, 1},
                      BudgetCase{"AtLeast", {.epochs = 4, .at_least = 600}, 55'000, 600},
                      BudgetCase{"AtLeastBelow", {.epochs = 4, .at_least = 600}, 2, 110'000},
                      BudgetCase{"AtMost", {.epochs = 4, .at_most = 8000}, 2, 8000},
                      BudgetCase{"Both", {.epochs = 4, .at_least = 600, .at_most = 600}, 2, 600},
                      BudgetCase{"BoundsOnSteps", {.steps = 5, .at_least = 10}, 2, 10},
                      BudgetCase{"BoundsOnATable", {.per_batch_size = {{2, 5}}, .at_most = 3}, 2, 3},
                      BudgetCase{"Table", {.per_batch_size = {{512, 77}}}, 512, 77},
                      BudgetCase{"BeyondInt32", {.steps = int64_t{1} << 31}, 2, int64_t{1} << 31},
                      BudgetCase{"BeyondExactDoubles", {.steps = (int64_t{1} << 53) + 1}, 2, (int64_t{1} << 53) + 1},
                      BudgetCase{"TheLargest", {.steps = INT64_MAX}, 1, INT64_MAX}),
    [](const auto& info) { return std::string(info.param.name); });

class BudgetRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(BudgetRefusedTest, Says) { ExpectRefused(GoodSpec(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    All, BudgetRefusedTest,
    ::testing::Values(
        RefusedCase{"Absent", [](SweepSpec& s) { s.budget.reset(); }, "budget",
                    "is required: steps, epochs or per_batch_size"},
        RefusedCase{"BoundsAlone", [](SweepSpec& s) { s.budget = {.at_least = 5}; }, "budget", "is required"},
        RefusedCase{"TwoKinds", [](SweepSpec& s) { s.budget->epochs = 1; }, "budget", "more than one of"},
        RefusedCase{"NoSteps", [](SweepSpec& s) { s.budget->steps = 0; }, "budget.steps",
                    "is 0; it must be at least 1"},
        RefusedCase{"NegativeSteps", [](SweepSpec& s) { s.budget->steps = -5; }, "budget.steps", "-5"},
        RefusedCase{"NoEpochs", [](SweepSpec& s) { s.budget = {.epochs = 0}; }, "budget.epochs", "above 0"},
        RefusedCase{"NegativeEpochs", [](SweepSpec& s) { s.budget = {.epochs = -1}; }, "budget.epochs", "above 0"},
        RefusedCase{"EpochsBeyondInt64", [](SweepSpec& s) { s.budget = {.epochs = 1e30}; }, "budget.epochs",
                    "1e+30 epochs are more than 2^63 - 1 steps"},
        RefusedCase{"ExamplesBeyondInt64", [](SweepSpec& s) { s.budget->steps = INT64_MAX; }, "budget",
                    "9223372036854775807 steps of 32 examples are more than 2^63 - 1 examples"},
        RefusedCase{"AtLeastNone", [](SweepSpec& s) { s.budget->at_least = 0; }, "budget.at_least", "at least 1"},
        RefusedCase{"AtMostNone", [](SweepSpec& s) { s.budget->at_most = 0; }, "budget.at_most", "at least 1"},
        RefusedCase{"BoundsCrossed", [](SweepSpec& s) { s.budget->at_least = 9, s.budget->at_most = 8; },
                    "budget.at_least", "above at_most (8)"},
        RefusedCase{"MissingEntry",
                    [](SweepSpec& s) {
                      s.budget = {.per_batch_size = {{32, 5}}};
                    },
                    "budget.per_batch_size", "no entry for batch size 512"},
        RefusedCase{"ExtraEntry",
                    [](SweepSpec& s) {
                      s.budget = {.per_batch_size = {{32, 5}, {512, 5}, {64, 5}}};
                    },
                    "budget.per_batch_size.64", "64 is no batch size of mnist/fc_64/sgd (32, 512)"},
        RefusedCase{"EntryTwice",
                    [](SweepSpec& s) {
                      s.budget = {.per_batch_size = {{32, 5}, {512, 5}, {32, 6}}};
                    },
                    "budget.per_batch_size.32", "twice"},
        RefusedCase{"EntryWithoutSteps",
                    [](SweepSpec& s) {
                      s.budget = {.per_batch_size = {{32, 5}, {512, 0}}};
                    },
                    "budget.per_batch_size.512", "is 0"}),
    CaseName);

TEST(BudgetTest, TheQuadraticHasNoEpochs) {
  ExpectRefused(QuadraticSpec(),
                {"", [](SweepSpec& s) { s.budget = {.epochs = 1}; }, "budget.epochs", "quadratic has no epochs"});
}

TEST(DecimalTest, MillionthsAreThoseOfShortDecimals) {
  EXPECT_EQ(Millionths(0.1), 100'000);
  EXPECT_EQ(Millionths(1.05), 1'050'000);
  EXPECT_EQ(Millionths(-2), -2'000'000);
  EXPECT_EQ(Millionths(0), 0);
  EXPECT_EQ(Millionths(1e-6), 1);
  EXPECT_EQ(Millionths(1e-7), std::nullopt);
  EXPECT_EQ(Millionths(1.0 / 3), std::nullopt);
  EXPECT_EQ(Millionths(1e10), std::nullopt);
  EXPECT_EQ(Millionths(0.1 + 0.2), std::nullopt) << "0.30000000000000004";
}

TEST(DecimalTest, CeilOfIsExactUpToInt64) {
  EXPECT_EQ(CeilOf(0.000001, 1, 1), 1);
  EXPECT_EQ(CeilOf(0, 5, 1), 0);
  EXPECT_EQ(CeilOf(1, INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(CeilOf(2, INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(CeilOf(1e300, 2, 1), std::nullopt);
  for (int64_t n = 1; n <= 1000; ++n) {
    EXPECT_EQ(CeilOf(static_cast<double>(n) / 100, 100, 1), n) << "never one more for a rounded product";
  }
}

}  // namespace
}  // namespace stepcurve
