// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// The same document as JSON: order kept, integers as integers, numbers as our grammar reads them.
absl::StatusOr<nlohmann::ordered_json> YamlJson(absl::string_view yaml);

}  // namespace stepcurve
