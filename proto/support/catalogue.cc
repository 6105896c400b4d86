// SPDX-License-Identifier: Apache-2.0
#include "proto/support/catalogue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "proto/support/goal.h"

namespace stepcurve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMebibyte = int64_t{1} << 20;

constexpr size_t kMaxLayers = 16;
constexpr int64_t kMaxWidth = 65'536;

ParameterRow LearningRate() {
  return {.name = "learning_rate", .low_open = true, .high = kInfinity, .high_open = true, .required = true};
}
ParameterRow Momentum() { return {.name = "momentum", .high = 1, .high_open = true, .required = true}; }
ParameterRow WeightDecay() {
  return {.name = "weight_decay", .high = kInfinity, .high_open = true, .default_value = 0};
}
ParameterRow GradientClip() {
  return {.name = "gradient_clip", .low_open = true, .high = kInfinity, .high_open = true};
}
ParameterRow LabelSmoothing() { return {.name = "label_smoothing", .high = 1, .high_open = true, .default_value = 0}; }
ParameterRow LearningRateDecaySteps() {
  return {.name = "learning_rate_decay_steps", .low = 1, .high = kInfinity, .high_open = true, .integer = true};
}
ParameterRow EndLearningRateFactor() { return {.name = "end_learning_rate_factor", .high = 1, .default_value = 0}; }
ParameterRow WarmupSteps() {
  return {.name = "warmup_steps", .high = kInfinity, .high_open = true, .integer = true, .required = true};
}

constexpr absl::string_view kSchedules[] = {"constant", "linear", "warmup_constant", "warmup_linear"};
constexpr absl::string_view kPrecisions[] = {"float32"};

Task TaskOf(const Workload& workload) {
  const DatasetRow* dataset = FindDataset(workload.dataset);
  return dataset == nullptr ? Task::kClassification : dataset->task;
}

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

template <typename Row>
const Row* FindNamed(absl::Span<const Row> rows, absl::string_view name) {
  const auto row = std::find_if(rows.begin(), rows.end(), [name](const Row& r) { return r.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

absl::Span<const DatasetRow> Datasets() {
  static const auto& rows = *new std::vector<DatasetRow>{
      {.name = "mnist", .train_examples = 55'000, .val_examples = 5'000, .test_examples = 10'000, .classes = 10},
      {.name = "fashion_mnist",
       .train_examples = 55'000,
       .val_examples = 5'000,
       .test_examples = 10'000,
       .classes = 10},
      {.name = "quadratic", .task = Task::kQuadratic},
  };
  return rows;
}

absl::Span<const ModelRow> Models() {
  static const auto& rows = *new std::vector<ModelRow>{
      {.family = "fc",
       .pattern = "fc_WIDTH[_WIDTH...]",
       .description = "Fully connected layers of these widths with ReLU, then one output a class",
       .tasks = {Task::kClassification},
       .memory_bytes = 256 * kMebibyte},
      {.family = "simple_cnn",
       .pattern = "simple_cnn_base|narrow|wide",
       .description = "Two 5x5 convolutions with 2x2 max pooling and one fully connected hidden layer",
       .tasks = {Task::kClassification},
       .memory_bytes = 512 * kMebibyte},
      {.family = "noisy_quadratic",
       .pattern = "noisy_quadratic[_100]",
       .description = "10,000 (or 100) curvatures 1/i with gradient noise; its expected loss is exact",
       .tasks = {Task::kQuadratic}},
  };
  return rows;
}

absl::Span<const OptimizerRow> Optimizers() {
  static const auto& rows = *new std::vector<OptimizerRow>{
      {.name = "sgd", .parameters = {LearningRate(), WeightDecay(), GradientClip()}},
      {.name = "momentum", .parameters = {LearningRate(), Momentum(), WeightDecay(), GradientClip()}},
      {.name = "nesterov_momentum", .parameters = {LearningRate(), Momentum(), WeightDecay(), GradientClip()}},
  };
  return rows;
}

const DatasetRow* FindDataset(absl::string_view name) { return FindNamed(Datasets(), name); }
const OptimizerRow* FindOptimizer(absl::string_view name) { return FindNamed(Optimizers(), name); }

const ModelRow* FindModel(absl::string_view name) {
  absl::string_view family;
  if (!FullyConnectedWidths(name).empty()) {
    family = "fc";
  } else if (name == "simple_cnn_base" || name == "simple_cnn_narrow" || name == "simple_cnn_wide") {
    family = "simple_cnn";
  } else if (name == "noisy_quadratic" || name == "noisy_quadratic_100") {
    family = "noisy_quadratic";
  }
  const absl::Span<const ModelRow> rows = Models();
  const auto row = std::find_if(rows.begin(), rows.end(), [family](const ModelRow& r) { return r.family == family; });
  return row == rows.end() ? nullptr : &*row;
}

std::vector<int64_t> FullyConnectedWidths(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '_');
  if (parts[0] != "fc" || parts.size() < 2 || parts.size() > kMaxLayers + 1) return {};
  std::vector<int64_t> widths;
  for (size_t i = 1; i < parts.size(); ++i) {
    int64_t width = 0;
    // Written back, so that "fc_064" is not a second name of fc_64.
    if (!absl::SimpleAtoi(parts[i], &width) || absl::StrCat(width) != parts[i] || width < 1 || width > kMaxWidth) {
      return {};
    }
    widths.push_back(width);
  }
  return widths;
}

absl::Span<const absl::string_view> Schedules() { return kSchedules; }
absl::Span<const absl::string_view> Precisions() { return kPrecisions; }

bool ParameterRow::Contains(double value) const {
  if (integer && value != std::floor(value)) return false;
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string ParameterRow::Domain() const {
  const std::string top = std::isinf(high) ? (integer ? "budget" : "inf") : FormatDouble(high);
  if (integer) return absl::StrCat("whole numbers ", FormatDouble(low), " to ", top);
  return absl::StrCat(low_open ? "(" : "[", FormatDouble(low), ", ", top, high_open ? ")" : "]");
}

std::vector<ParameterRow> Metaparameters(const Workload& workload, absl::string_view schedule) {
  const OptimizerRow* optimizer = FindOptimizer(workload.optimizer);
  if (optimizer == nullptr) return {};
  std::vector<ParameterRow> rows = optimizer->parameters;
  if (absl::EndsWith(schedule, "linear")) {
    rows.push_back(LearningRateDecaySteps());
    rows.push_back(EndLearningRateFactor());
  }
  if (absl::StartsWith(schedule, "warmup_")) {
    rows.push_back(WarmupSteps());
  }
  if (TaskOf(workload) == Task::kQuadratic) {
    // Its moments are known for these two only.
    std::erase_if(rows, [](const ParameterRow& r) { return r.name != "learning_rate" && r.name != "momentum"; });
  } else {
    rows.push_back(LabelSmoothing());
  }
  std::stable_partition(rows.begin(), rows.end(), [](const ParameterRow& r) { return r.required; });
  return rows;
}

std::vector<std::string> Metrics(const Workload& workload) {
  if (TaskOf(workload) == Task::kQuadratic) return {"train/loss", "val/loss"};
  std::vector<std::string> metrics;
  for (const char* split : {"train", "val", "test"}) {
    metrics.push_back(absl::StrCat(split, "/classification_error"));
    metrics.push_back(absl::StrCat(split, "/cross_entropy_error"));
  }
  return metrics;
}

bool LargerIsBetter(absl::string_view metric) { return absl::EndsWith(metric, "/average_precision"); }

std::vector<std::string> NearestNames(absl::string_view name, const std::vector<std::string>& known) {
  std::vector<std::pair<int, std::string>> ranked;
  for (const std::string& candidate : known) {
    ranked.emplace_back(EditDistance(name, candidate), candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < std::min<size_t>(3, ranked.size()); ++i) {
    nearest.push_back(ranked[i].second);
  }
  return nearest;
}

}  // namespace stepcurve
