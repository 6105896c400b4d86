// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "pqxx/pqxx"

namespace stepcurve {

// Writes the rows of `records` of trials that end in `work` by anything but a report of their worker, from what is
// stored of them. `attempts`, one of each trial: as in kLiveChunks.
absl::Status WriteRecords(pqxx::work& work, const std::vector<int64_t>& trials, const std::vector<int64_t>& attempts);

}  // namespace stepcurve
