// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "server/core/sweep_spec.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// The calls of v1::SweepService about sweeps as a whole. Thread-safe.
class SweepHandlers final {
 public:
  // Not owned; both outlive the handlers.
  SweepHandlers(SweepStore* sweeps, SessionStore* sessions) : sweeps_(sweeps), sessions_(sessions) {}

  absl::StatusOr<v1::CreateSweepResponse> CreateSweep(const v1::CreateSweepRequest& request);
  absl::StatusOr<v1::GetSweepResponse> GetSweep(const v1::GetSweepRequest& request);
  absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const v1::ListSweepsRequest& request);
  absl::StatusOr<v1::PauseSweepResponse> PauseSweep(const v1::PauseSweepRequest& request);
  absl::StatusOr<v1::ResumeSweepResponse> ResumeSweep(const v1::ResumeSweepRequest& request);
  absl::StatusOr<v1::CancelSweepResponse> CancelSweep(const v1::CancelSweepRequest& request);

 private:
  absl::StatusOr<v1::SweepPlan> Plan(const SweepPlan& plan);
  // An ALREADY_EXISTS of the store about the plan's name, with what differs from the sweep that has it. Other failures
  // as they are.
  absl::Status WithDifference(const absl::Status& status, const SweepPlan& plan, const SweepSpec& spec,
                              const std::string& request_id);

  SweepStore* const sweeps_;
  SessionStore* const sessions_;
};

}  // namespace stepcurve
