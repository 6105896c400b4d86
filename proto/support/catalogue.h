// SPDX-License-Identifier: Apache-2.0
//
// What can be trained: one table each of data sets, models and optimizers, linked by the server, which checks sweeps
// against it, and by workers, which say what of it they can run. Tables that one can read: to add a row, add a row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "proto/support/option.h"

namespace stepcurve {

enum class Task { kClassification, kQuadratic };

// An option that a data set or a model takes. A default never changes its meaning: a new meaning is a new name.
struct OptionRow {
  std::string name;
  Option::Value default_value;  // Its alternative is the option's type.
  std::string allowed;          // For people: "1 to 4096".
};

struct DatasetRow {
  std::string name;
  Task task = Task::kClassification;
  // Examples per split; 0 for a data set without epochs (quadratic), which takes any batch size.
  int64_t train_examples = 0;
  int64_t val_examples = 0;
  int64_t test_examples = 0;
  int64_t classes = 0;
  std::vector<OptionRow> options;
};

struct ModelRow {
  std::string family;       // What a worker announces: "fc".
  std::string pattern;      // For people: "fc_WIDTH[_WIDTH...]".
  std::string description;  // One line.
  std::vector<Task> tasks;
  std::vector<std::string> parameters;  // Metaparameters that the model adds: "dropout".
  std::vector<OptionRow> options;
  int64_t memory_bytes = 0;  // Of device memory that a trial needs, roughly.
};

// A metaparameter: where it may lie, and its value where a space does not name it.
struct ParameterRow {
  std::string name;
  double low = 0;
  bool low_open = false;  // (low, ... rather than [low, ...
  double high = 0;        // May be infinite.
  bool high_open = false;
  bool integer = false;   // A number of steps, at most the budget.
  // Absent and not required: the parameter then has no effect (gradient_clip), or follows from the budget
  // (learning_rate_decay_steps).
  std::optional<double> default_value;
  bool required = false;

  bool Contains(double value) const;
  std::string Domain() const;  // "(0, inf)"
};

struct OptimizerRow {
  std::string name;
  std::vector<ParameterRow> parameters;  // Those of the optimizer itself, learning_rate first.
};

absl::Span<const DatasetRow> Datasets();
absl::Span<const ModelRow> Models();
absl::Span<const OptimizerRow> Optimizers();

// nullptr when the catalogue has no such row.
const DatasetRow* FindDataset(absl::string_view name);
const ModelRow* FindModel(absl::string_view name);  // "fc_1024_1024" finds the row of fc.
const OptimizerRow* FindOptimizer(absl::string_view name);

// Widths of "fc_1024_64": {1024, 64}; each 1 to 65,536, at most 16 of them. Empty when `name` is no such model.
std::vector<int64_t> FullyConnectedWidths(absl::string_view name);

// Names of schedules and precisions.
absl::Span<const absl::string_view> Schedules();
absl::Span<const absl::string_view> Precisions();

// Every metaparameter that a study of this workload and schedule has: the optimizer's, the schedule's, the model's and
// the task's, required ones first.
std::vector<ParameterRow> Metaparameters(const Workload& workload, absl::string_view schedule);

// Metrics of a workload in the order that reports use: train, val, test, each with the task's metrics.
// classification: classification_error, cross_entropy_error; quadratic: train/loss and val/loss.
std::vector<std::string> Metrics(const Workload& workload);

// Whether a larger value of the metric is the better one (average_precision).
bool LargerIsBetter(absl::string_view metric);

// Up to three names of `known` nearest to `name` by edit distance, for "unknown model X; nearest: ...".
std::vector<std::string> NearestNames(absl::string_view name, const std::vector<std::string>& known);

}  // namespace stepcurve
