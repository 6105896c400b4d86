// SPDX-License-Identifier: Apache-2.0
//
// Quantities with a unit in sweep files: memory ("40GiB") and durations ("30m", "1h30m").
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stepcurve {

// A number of bytes, or a number with KiB, MiB, GiB or TiB, that comes to a whole number of bytes of at least 1.
absl::StatusOr<int64_t> ParseMemory(absl::string_view text);
// In the largest unit that divides it.
std::string FormatMemory(int64_t bytes);

// Above zero and finite, as in 90s, 30m, 1h30m.
absl::StatusOr<absl::Duration> ParseSpan(absl::string_view text);
std::string FormatSpan(absl::Duration span);

}  // namespace stepcurve
