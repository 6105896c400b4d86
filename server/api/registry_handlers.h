// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// The calls of v1::SweepService about what there is: workloads, workers, the catalogue. Thread-safe.
class RegistryHandlers final {
 public:
  // Not owned; both outlive the handlers.
  RegistryHandlers(SweepStore* sweeps, SessionStore* sessions) : sweeps_(sweeps), sessions_(sessions) {}

  absl::StatusOr<v1::ListWorkloadsResponse> ListWorkloads();
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers();
  absl::StatusOr<v1::GetCatalogueResponse> GetCatalogue();

 private:
  SweepStore* const sweeps_;
  SessionStore* const sessions_;
};

}  // namespace stepcurve
