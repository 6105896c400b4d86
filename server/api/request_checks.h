// SPDX-License-Identifier: Apache-2.0
//
// Checks that requests share. Each fails with INVALID_ARGUMENT naming the field, its value and what is allowed.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/support/goal.h"
#include "stepcurve/v1/study_definition.pb.h"

namespace stepcurve {

// A name, an id or an address that a row is looked up by: 1 to 512 bytes without control characters.
absl::Status CheckName(absl::string_view field, absl::string_view value);

// 0 (100) to 1,000.
absl::StatusOr<int64_t> PageSize(int32_t page_size);

absl::Status CheckAtLeastZero(absl::string_view field, int64_t value);

// A goal, its failures under the path `field`.
absl::StatusOr<Goal> CheckGoal(absl::string_view field, const v1::Goal& goal);

}  // namespace stepcurve
