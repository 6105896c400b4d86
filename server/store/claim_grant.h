// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "server/store/claim_store.h"

#include <pqxx/pqxx>

namespace stepcurve {

// Shares of a plan, and what their sessions and strands belong to.
struct PlannedShares {
  std::vector<ClaimShare> shares;  // By strand id.
  absl::flat_hash_map<int64_t, const ClaimSession*> sessions;
  absl::flat_hash_map<int64_t, int64_t> sweep_of_strand;
};

// Grants a plan's shares within the caller's transaction, as far as sessions, sweeps and strands still stand as the
// plan saw them: locks them in order, takes less where there is less.
absl::StatusOr<ClaimStore::Result> GrantShares(pqxx::work& work, PlannedShares plan);

}  // namespace stepcurve
