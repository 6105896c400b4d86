// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "server/api/trial_scope.h"
#include "server/store/curve_store.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// The calls of v1::SweepService about trials. Thread-safe.
class TrialHandlers final {
 public:
  // Not owned; all outlive the handlers.
  struct Options {
    SweepStore* sweeps = nullptr;
    TrialStore* trials = nullptr;
    CurveStore* curves = nullptr;
  };
  explicit TrialHandlers(const Options& options) : options_(options) {}

  absl::StatusOr<v1::ListTrialsResponse> ListTrials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::GetTrialResponse> GetTrial(const v1::GetTrialRequest& request);

 private:
  absl::StatusOr<TrialScope> Resolve(const v1::ListTrialsRequest& request);
  // One page: rows, and the place of its end where there is more.
  absl::StatusOr<v1::ListTrialsResponse> ByNumber(const v1::ListTrialsRequest& request, const TrialScope& scope);
  absl::StatusOr<v1::ListTrialsResponse> ByOrder(const v1::ListTrialsRequest& request, const TrialScope& scope);
  absl::StatusOr<std::vector<TrialRow>> AllOf(const TrialScope& scope);
  // Rows as messages, with best values and steps to the goal from their records.
  absl::Status Fill(const TrialScope& scope, const std::vector<TrialRow>& rows, v1::ListTrialsResponse& response);

  const Options options_;
};

}  // namespace stepcurve
