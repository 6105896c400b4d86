// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "server/core/sweep_spec.h"
#include "server/search/space.h"

namespace stepcurve {

// Checks a range by itself: its bounds against its scale, whole bounds where it is of integers, `count` with and only
// with the sampler grid.
absl::StatusOr<RangeEntry> PlanRange(const RangeSpec& range, bool for_grid, const std::string& path);

}  // namespace stepcurve
