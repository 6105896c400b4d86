// SPDX-License-Identifier: Apache-2.0
//
// Reading sweeps within a transaction: shared by the files of SweepStore.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/store/sweep_store.h"

#include <pqxx/pqxx>

namespace stepcurve {

absl::StatusOr<SweepRow> ReadSweep(pqxx::transaction_base& work, int64_t sweep);

// The id of a sweep by name, or by decimal id. NOT_FOUND names it.
absl::StatusOr<int64_t> FindSweepId(pqxx::transaction_base& work, const std::string& name_or_id);

}  // namespace stepcurve
