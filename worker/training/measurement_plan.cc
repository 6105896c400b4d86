// SPDX-License-Identifier: Apache-2.0
#include "worker/training/measurement_plan.h"

#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace stepcurve {
namespace {

constexpr std::array<absl::string_view, kSplits.size()> kSplitNames = {"train", "val", "test"};

size_t Index(Split split) { return static_cast<size_t>(split); }

}  // namespace

absl::StatusOr<MeasurementPlan> MeasurementPlan::Make(const TrialRun& run) {
  MeasurementPlan plan;
  for (const std::string& metric : run.metrics) {
    std::optional<Column> column;
    for (const Split split : kSplits) {
      const absl::string_view name = kSplitNames[Index(split)];
      if (metric == absl::StrCat(name, "/classification_error")) column = Column{split, true};
      if (metric == absl::StrCat(name, "/cross_entropy_error")) column = Column{split, false};
    }
    if (!column.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric is ", metric,
                       "; this trainer has classification_error and cross_entropy_error of train, ", "val and test"));
    }
    for (const Goal& goal : run.goals) {
      if (goal.metric == metric) plan.pending_.push_back({plan.columns_.size(), goal});
    }
    plan.columns_.push_back(*column);
    plan.intervals_[Index(column->split)] = 1;
  }
  for (const auto& [name, interval] : run.split_intervals) {
    for (const Split split : kSplits) {
      if (kSplitNames[Index(split)] != name) continue;
      if (interval < 1) {
        return absl::InvalidArgumentError(absl::StrCat("interval of split ", name, " is ", interval, "; at least 1"));
      }
      if (plan.intervals_[Index(split)] != 0) plan.intervals_[Index(split)] = interval;
    }
  }
  return plan;
}

std::vector<Split> MeasurementPlan::Due(int64_t evaluation) const {
  std::vector<Split> due;
  for (const Split split : kSplits) {
    const int64_t interval = intervals_[Index(split)];
    if (interval != 0 && evaluation % interval == 0) due.push_back(split);
  }
  return due;
}

std::vector<Split> MeasurementPlan::Skipped(int64_t evaluation) const {
  std::vector<Split> skipped;
  for (const Split split : kSplits) {
    const int64_t interval = intervals_[Index(split)];
    if (interval != 0 && evaluation % interval != 0) skipped.push_back(split);
  }
  return skipped;
}

std::vector<double> MeasurementPlan::Empty() const {
  return std::vector<double>(columns_.size(), std::numeric_limits<double>::quiet_NaN());
}

void MeasurementPlan::Fill(Split split, const Score& score, std::vector<double>& values) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].split != split) continue;
    values[i] = columns_[i].is_error ? score.classification_error() : score.cross_entropy_error();
  }
}

bool MeasurementPlan::CrossesGoal(const std::vector<double>& values) {
  return std::erase_if(pending_,
                       [&](const PendingGoal& pending) { return pending.goal.IsPast(values[pending.column]); }) > 0;
}

}  // namespace stepcurve
