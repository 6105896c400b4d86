// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "gmock/gmock.h"

#include "server/core/field_error.h"
#include "server/core/plan_sweep.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {

inline SpaceEntrySpec Range(const std::string& name, RangeSpec range, TimesSpec times = {}) {
  return {.name = name, .kind = std::move(range), .times = std::move(times)};
}
inline SpaceEntrySpec Values(const std::string& name, std::vector<double> values, TimesSpec times = {}) {
  return {.name = name, .kind = ValuesSpec{std::move(values)}, .times = std::move(times)};
}
inline SpaceEntrySpec Fixed(const std::string& name, double value, TimesSpec times = {}) {
  return {.name = name, .kind = FixedSpec{value}, .times = std::move(times)};
}
inline SpaceEntrySpec Removed(const std::string& name) { return {.name = name, .kind = RemovedSpec{}}; }

inline SpaceEntrySpec LearningRate() { return Range("learning_rate", {.min = 1e-4, .max = 10, .scale = "log"}); }
inline SpaceEntrySpec Momentum() { return Range("momentum", {.min = 0.9, .max = 0.9999, .scale = "reverse_log"}); }

// A sweep with nothing wrong: two optimizers, two batch sizes, momentum by override.
inline SweepSpec GoodSpec() {
  SweepSpec spec;
  spec.name = "good";
  spec.workloads = {{.dataset = {"mnist"}, .model = {"fc_64"}, .optimizer = {"sgd", "momentum"}}};
  spec.batch_sizes = BatchSizesSpec{.sizes = {32, 512}};
  spec.search.trials = 10;
  spec.search.space = {LearningRate()};
  spec.budget = BudgetSpec{.steps = 1000};
  spec.goals = {"val/classification_error < 0.1"};
  OverrideSpec momentum;
  momentum.selector.optimizer = {"momentum"};
  momentum.search = SearchSpec{.space = {Momentum()}};
  spec.overrides = {momentum};
  return spec;
}

// One workload, one batch size, no override.
inline SweepSpec SgdSpec() {
  SweepSpec spec = GoodSpec();
  spec.workloads[0].optimizer = {"sgd"};
  spec.batch_sizes = BatchSizesSpec{.sizes = {100}};
  spec.overrides.clear();
  return spec;
}

inline SweepSpec QuadraticSpec() {
  SweepSpec spec = SgdSpec();
  spec.workloads = {{.dataset = {"quadratic"}, .model = {"noisy_quadratic"}, .optimizer = {"sgd"}}};
  spec.goals = {"val/loss < 0.01"};
  return spec;
}

// A spec made wrong by `edit`: what PlanSweep says about which field.
struct RefusedCase {
  std::string name;
  std::function<void(SweepSpec&)> edit;
  std::string field;
  std::string message;  // A part of it.
};

inline void PrintTo(const RefusedCase& row, std::ostream* out) { *out << row.name; }

inline void ExpectRefused(SweepSpec spec, const RefusedCase& row) {
  row.edit(spec);
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, Fails(absl::StatusCode::kInvalidArgument, row.message));
  EXPECT_EQ(FieldOf(plan.status()), row.field) << plan.status();
}

inline std::string CaseName(const ::testing::TestParamInfo<RefusedCase>& info) { return info.param.name; }

}  // namespace stepcurve
