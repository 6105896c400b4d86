// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/quantity.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/sweep_file/number.h"

namespace stepcurve {
namespace {

constexpr std::pair<absl::string_view, int64_t> kUnits[] = {
    {"TiB", int64_t{1} << 40}, {"GiB", int64_t{1} << 30}, {"MiB", int64_t{1} << 20}, {"KiB", int64_t{1} << 10}};

}  // namespace

absl::StatusOr<int64_t> ParseMemory(absl::string_view text) {
  absl::string_view number = text;
  int64_t unit = 1;
  for (const auto& [name, bytes] : kUnits) {
    if (absl::ConsumeSuffix(&number, name)) {
      unit = bytes;
      break;
    }
  }
  const absl::StatusOr<double> amount = ParseReal(number);
  // Whole and below 2^53, a double is exact.
  const double bytes = amount.ok() ? *amount * static_cast<double>(unit) : 0;
  if (bytes < 1 || bytes > 9e15 || bytes != std::floor(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" is no amount of memory; write it as 512MiB, 40GiB or a number of bytes", text));
  }
  return static_cast<int64_t>(bytes);
}

std::string FormatMemory(int64_t bytes) {
  for (const auto& [name, size] : kUnits) {
    if (bytes >= size && bytes % size == 0) return absl::StrCat(bytes / size, name);
  }
  return absl::StrCat(bytes);
}

absl::StatusOr<absl::Duration> ParseSpan(absl::string_view text) {
  absl::Duration span;
  if (!absl::ParseDuration(text, &span) || span <= absl::ZeroDuration() || span == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"%s\" is no span of time; write it as 90s, 30m or 1h30m", text));
  }
  return span;
}

std::string FormatSpan(absl::Duration span) { return absl::FormatDuration(span); }

}  // namespace stepcurve
