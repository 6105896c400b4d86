// SPDX-License-Identifier: Apache-2.0
//
// PostgreSQL's text form of one-dimensional arrays without nulls: libpqxx 6.4 sends and reads text only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace stepcurve {

// A parameter, to be cast in the statement: $1::bigint[].
std::string ArrayText(absl::Span<const int64_t> values);
std::string ArrayText(absl::Span<const int32_t> values);
std::string ArrayText(absl::Span<const double> values);  // Every double survives, NaN and infinities among them.
std::string ArrayText(absl::Span<const std::string> values);

// The reverse, of what PostgreSQL sends; DATA_LOSS for anything else.
absl::StatusOr<std::vector<int64_t>> ParseInt64Array(absl::string_view text);
absl::StatusOr<std::vector<double>> ParseDoubleArray(absl::string_view text);
absl::StatusOr<std::vector<std::string>> ParseTextArray(absl::string_view text);

}  // namespace stepcurve
