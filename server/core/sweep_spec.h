// SPDX-License-Identifier: Apache-2.0
//
// A sweep as its author wrote it, unresolved and in the author's order: the contract's SweepSpec for code that knows no
// proto. The contract documents the fields; here, std::optional and an empty list mean "not written".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "proto/support/option.h"

namespace stepcurve {

struct WorkloadSpec {
  std::vector<std::string> dataset;
  std::vector<std::string> model;
  std::vector<std::string> optimizer;
  std::vector<Option> data;
  std::vector<Option> options;
  std::string variant;
  friend bool operator==(const WorkloadSpec&, const WorkloadSpec&) = default;
};

struct GeometricSpec {
  int64_t from = 0;
  int64_t to = 0;
  double factor = 0;
  friend bool operator==(const GeometricSpec&, const GeometricSpec&) = default;
};

struct BatchSizesSpec {
  std::vector<int64_t> sizes;
  std::optional<GeometricSpec> range;
  bool full = false;
  friend bool operator==(const BatchSizesSpec&, const BatchSizesSpec&) = default;
};

struct TrainingSpec {
  std::optional<std::string> schedule;
  std::optional<std::string> precision;
  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};

struct FixedSpec {
  double value = 0;
  friend bool operator==(const FixedSpec&, const FixedSpec&) = default;
};
struct ValuesSpec {
  std::vector<double> values;
  friend bool operator==(const ValuesSpec&, const ValuesSpec&) = default;
};
struct RangeSpec {
  double min = 0;
  double max = 0;
  std::string scale;  // Empty: linear.
  bool integer = false;
  int64_t count = 0;  // 0: not written.
  friend bool operator==(const RangeSpec&, const RangeSpec&) = default;
};
struct RemovedSpec {
  friend bool operator==(const RemovedSpec&, const RemovedSpec&) = default;
};

struct TimesBudgetSpec {
  friend bool operator==(const TimesBudgetSpec&, const TimesBudgetSpec&) = default;
};
struct TimesBatchSizeSpec {
  double power = 0;
  int64_t at = 0;
  friend bool operator==(const TimesBatchSizeSpec&, const TimesBatchSizeSpec&) = default;
};
struct TimesParameterSpec {
  std::string name;
  friend bool operator==(const TimesParameterSpec&, const TimesParameterSpec&) = default;
};
using TimesSpec = std::variant<std::monostate, TimesBudgetSpec, TimesBatchSizeSpec, TimesParameterSpec>;

struct SpaceEntrySpec {
  std::string name;
  std::variant<std::monostate, FixedSpec, ValuesSpec, RangeSpec, RemovedSpec> kind;
  TimesSpec times;
  friend bool operator==(const SpaceEntrySpec&, const SpaceEntrySpec&) = default;
};

struct PointsSpec {
  std::vector<std::string> names;
  std::vector<double> values;        // Row-major.
  std::vector<int64_t> batch_sizes;  // One per point, 0 for every batch size; or empty.
  friend bool operator==(const PointsSpec&, const PointsSpec&) = default;
};

struct SearchSpec {
  std::optional<std::string> sampler;
  std::optional<int64_t> seed;
  std::optional<int64_t> trials;
  std::optional<int64_t> max_trials;
  std::optional<bool> top_up;
  std::optional<std::string> split;
  std::optional<int64_t> repeats;
  std::optional<std::string> points_across_batch_sizes;
  std::vector<SpaceEntrySpec> space;
  std::optional<PointsSpec> points;
  friend bool operator==(const SearchSpec&, const SearchSpec&) = default;
};

struct BudgetEntrySpec {
  int64_t batch_size = 0;
  int64_t steps = 0;
  friend bool operator==(const BudgetEntrySpec&, const BudgetEntrySpec&) = default;
};
struct BudgetSpec {
  std::optional<int64_t> steps;
  std::optional<double> epochs;
  std::vector<BudgetEntrySpec> per_batch_size;
  std::optional<int64_t> at_least;
  std::optional<int64_t> at_most;
  friend bool operator==(const BudgetSpec&, const BudgetSpec&) = default;
};

struct SplitIntervalSpec {
  std::string split;
  int64_t every = 0;
  friend bool operator==(const SplitIntervalSpec&, const SplitIntervalSpec&) = default;
};
struct EvaluationSpec {
  std::optional<double> geometric;
  std::optional<int64_t> from;
  std::optional<int64_t> every;
  std::optional<double> epochs;
  std::vector<int64_t> at;
  std::vector<SplitIntervalSpec> splits;
  std::optional<int64_t> train_examples;
  friend bool operator==(const EvaluationSpec&, const EvaluationSpec&) = default;
};

struct StopSpec {
  std::optional<bool> exact;
  std::optional<std::string> semantics;
  std::optional<int64_t> keep;
  friend bool operator==(const StopSpec&, const StopSpec&) = default;
};

struct ResourcesSpec {
  std::optional<std::string> device;
  std::optional<int64_t> devices;
  std::optional<int64_t> memory_bytes;
  friend bool operator==(const ResourcesSpec&, const ResourcesSpec&) = default;
};

struct CheckpointSpec {
  std::optional<absl::Duration> every;
  std::optional<int64_t> every_steps;
  friend bool operator==(const CheckpointSpec&, const CheckpointSpec&) = default;
};

struct SelectorSpec {
  std::vector<std::string> dataset;
  std::vector<std::string> model;
  std::vector<std::string> optimizer;
  std::vector<std::string> variant;
  std::vector<int64_t> batch_sizes;
  std::optional<int64_t> batch_size_from;
  std::optional<int64_t> batch_size_to;
  bool full = false;
  friend bool operator==(const SelectorSpec&, const SelectorSpec&) = default;
};

struct OverrideSpec {
  SelectorSpec selector;  // `for` in the file.
  std::optional<TrainingSpec> training;
  std::optional<SearchSpec> search;
  std::optional<BudgetSpec> budget;
  std::optional<EvaluationSpec> evaluation;
  std::optional<std::vector<std::string>> goals;
  std::optional<ResourcesSpec> resources;
  std::optional<CheckpointSpec> checkpoint;
  std::optional<BatchSizesSpec> batch_sizes;
  friend bool operator==(const OverrideSpec&, const OverrideSpec&) = default;
};

struct SweepSpec {
  std::string name;
  std::string description;
  std::vector<std::string> tags;
  int32_t priority = 0;
  std::optional<int64_t> max_running;
  std::vector<WorkloadSpec> workloads;
  std::optional<BatchSizesSpec> batch_sizes;
  TrainingSpec training;
  SearchSpec search;
  std::optional<BudgetSpec> budget;
  EvaluationSpec evaluation;
  std::vector<std::string> goals;
  StopSpec stop;
  ResourcesSpec resources;
  CheckpointSpec checkpoint;
  std::vector<OverrideSpec> overrides;
  int32_t version = 0;
  friend bool operator==(const SweepSpec&, const SweepSpec&) = default;
};

}  // namespace stepcurve
