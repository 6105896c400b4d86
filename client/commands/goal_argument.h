// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "stepcurve/v1/study_definition.pb.h"

namespace stepcurve {

// "val/classification_error < 0.1". INVALID_ARGUMENT says what is wrong with it.
absl::StatusOr<v1::Goal> GoalArgument(const std::string& text);

}  // namespace stepcurve
