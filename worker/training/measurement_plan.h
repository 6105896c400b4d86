// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/run/trial_run.h"
#include "worker/training/evaluation.h"

namespace stepcurve {

enum class Split { kTrain, kVal, kTest };
inline constexpr std::array<Split, 3> kSplits = {Split::kTrain, Split::kVal, Split::kTest};

// Which splits an evaluation of a run takes in, and where their scores stand in its measurement.
class MeasurementPlan final {
 public:
  // INVALID_ARGUMENT when the run has a metric that no classifier has, or an interval below 1.
  static absl::StatusOr<MeasurementPlan> Make(const TrialRun& run);

  // The splits that evaluation number `evaluation`, counted from 0, takes in: one with interval n at every n-th. A
  // split none of whose metrics the run wants is never taken in.
  std::vector<Split> Due(int64_t evaluation) const;
  // The other splits that the run wants.
  std::vector<Split> Skipped(int64_t evaluation) const;

  // A measurement with nothing evaluated.
  std::vector<double> Empty() const;
  void Fill(Split split, const Score& score, std::vector<double>& values) const;

  // Whether `values` is past a goal that no measurement shown before was past: then every split is taken in.
  bool CrossesGoal(const std::vector<double>& values);

 private:
  struct Column {
    Split split;
    bool is_error;  // Else the cross entropy.
  };
  struct PendingGoal {
    size_t column;
    Goal goal;
  };

  std::vector<Column> columns_;
  std::array<int64_t, kSplits.size()> intervals_ = {};  // 0: never.
  std::vector<PendingGoal> pending_;
};

}  // namespace stepcurve
