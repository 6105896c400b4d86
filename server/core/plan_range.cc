// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_range.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "proto/support/goal.h"
#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/core/names.h"
#include "server/search/sampler.h"

namespace stepcurve {
namespace {

// Whole numbers up to here are exact doubles.
constexpr double kMaxWhole = 0x1p53;

constexpr int64_t kMaxGridPoints = 1'000'000;

absl::StatusOr<Scale> PlanScale(const std::string& name, const std::string& path) {
  if (name.empty() || name == "linear") return Scale::kLinear;
  if (name == "log") return Scale::kLog;
  if (name == "reverse_log") return Scale::kReverseLog;
  return UnknownName(path, "scale", name, {"linear", "log", "reverse_log"});
}

absl::Status CheckBounds(const RangeEntry& range, const std::string& path) {
  const std::string min = absl::StrCat("min ", FormatDouble(range.min));
  const std::string max = absl::StrCat("max ", FormatDouble(range.max));
  if (!std::isfinite(range.min) || !std::isfinite(range.max)) return FieldError(path, "min and max must be finite");
  if (range.min == range.max) {
    return FieldError(path, absl::StrCat(min, " and ", max, " are equal; write the number"));
  }
  if (range.min > range.max) return FieldError(path, absl::StrCat(min, " is above ", max));
  if (range.scale == Scale::kLog && range.min <= 0) {
    return FieldError(path,
                      absl::StrCat(min, " has no logarithm; with scale log min must be above 0 (bounds are values)"));
  }
  if (range.scale == Scale::kReverseLog && range.max >= 1) {
    return FieldError(path, absl::StrCat(max, " is too large; with scale reverse_log max must be below 1"));
  }
  if (!range.integer) return absl::OkStatus();
  if (range.scale == Scale::kReverseLog) return FieldError(path, "integer goes with scale linear or log");
  if (range.min != std::floor(range.min) || range.max != std::floor(range.max) || std::abs(range.min) > kMaxWhole ||
      std::abs(range.max) > kMaxWhole) {
    return FieldError(
        path, absl::StrCat("with integer: true, ", min, " and ", max, " must be whole numbers of at most 2^53"));
  }
  return absl::OkStatus();
}

// Rounding may make two grid points of an integer range one.
absl::Status CheckDistinct(const RangeEntry& range, const std::string& path) {
  const Sampler grid({SpaceEntry{.kind = range}}, SamplerKind::kGrid, 0);
  double previous = grid.At(0, {}).coordinates[0];
  for (int64_t i = 1; i < *range.count; ++i) {
    const double value = grid.At(i, {}).coordinates[0];
    if (!(value > previous)) {
      return FieldError(
          path, absl::StrCat("count ", *range.count, " gives ", FormatDouble(value), " twice; choose a smaller count"));
    }
    previous = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RangeEntry> PlanRange(const RangeSpec& spec, bool for_grid, const std::string& path) {
  RangeEntry range{.min = spec.min, .max = spec.max, .integer = spec.integer};
  STEPCURVE_ASSIGN_OR_RETURN(range.scale, PlanScale(spec.scale, path + ".scale"));
  STEPCURVE_RETURN_IF_ERROR(CheckBounds(range, path));
  if (!for_grid) {
    if (spec.count != 0) return FieldError(path + ".count", "goes with the sampler grid only");
    return range;
  }
  if (spec.count == 0) return FieldError(path, "needs count, the number of grid points, with the sampler grid");
  if (spec.count < 2 || spec.count > kMaxGridPoints) {
    return FieldError(path + ".count",
                      absl::StrCat("is ", spec.count, "; it must be 2 (both ends) to ", kMaxGridPoints));
  }
  range.count = spec.count;
  STEPCURVE_RETURN_IF_ERROR(CheckDistinct(range, path + ".count"));
  return range;
}

}  // namespace stepcurve
