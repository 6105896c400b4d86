// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

inline constexpr absl::string_view kPlainNameRule = "a name is 1 to 63 characters of [a-z0-9._-]";

// 1 to 63 characters of [a-z0-9._-]: tags and variants.
bool IsPlainName(absl::string_view name);

// A plain name that starts with a letter, so that it is never taken for an id: sweeps.
bool IsSweepName(absl::string_view name);

// "unknown model fcc_64; nearest: fc_64, ...". `kind`: "model".
absl::Status UnknownName(absl::string_view path, absl::string_view kind, absl::string_view name,
                         const std::vector<std::string>& known);

}  // namespace stepcurve
