// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// Name of the status payload that holds the path.
inline constexpr absl::string_view kFieldPayload = "stepcurve.field";

// An INVALID_ARGUMENT about one field of a sweep's spec. `path` is spelled as the sweep file spells it, indices from 0:
// "search.space.momentum", "overrides[1].for". `message` says what is wrong and the way out, without the path.
absl::Status FieldError(absl::string_view path, absl::string_view message);

// The path of a status that FieldError made; empty for any other.
std::string FieldOf(const absl::Status& status);

}  // namespace stepcurve
