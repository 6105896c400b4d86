// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stepcurve {

// How a unit coordinate becomes a value.
//   linear:       uniform in the value
//   log:          uniform in log(value)
//   reverse_log:  uniform in log(1 - value), as in the published data; not Vizier's scale of that name
enum class Scale { kLinear, kLog, kReverseLog };

struct FixedEntry {
  double value = 0;
  friend bool operator==(const FixedEntry&, const FixedEntry&) = default;
};
struct ValuesEntry {
  std::vector<double> values;  // In the author's order.
  friend bool operator==(const ValuesEntry&, const ValuesEntry&) = default;
};
struct RangeEntry {
  double min = 0;
  double max = 1;
  Scale scale = Scale::kLinear;
  bool integer = false;          // Both ends inclusive, uniform in the scaled coordinate over the integers' cells.
  std::optional<int64_t> count;  // Grid points, ends included exactly.
  friend bool operator==(const RangeEntry&, const RangeEntry&) = default;
};

// Multiplies the drawn coordinate.
struct TimesBudget {
  friend bool operator==(const TimesBudget&, const TimesBudget&) = default;
};
struct TimesBatchSize {
  double power = 1;
  int64_t at = 1;
  friend bool operator==(const TimesBatchSize&, const TimesBatchSize&) = default;
};
struct TimesParameter {
  std::string name;
  friend bool operator==(const TimesParameter&, const TimesParameter&) = default;
};
using Times = std::variant<std::monostate, TimesBudget, TimesBatchSize, TimesParameter>;

// One metaparameter of a search space.
struct SpaceEntry {
  std::string name;
  std::variant<FixedEntry, ValuesEntry, RangeEntry> kind;
  Times times;

  bool fixed() const { return std::holds_alternative<FixedEntry>(kind); }
  friend bool operator==(const SpaceEntry&, const SpaceEntry&) = default;
};

// In the author's order. Ranges are checked before they get here: finite, min < max, min > 0 for log, max < 1 for
// reverse_log, no duplicate names.
using SearchSpace = std::vector<SpaceEntry>;

// Number of entries that are not fixed.
int Dimensions(const SearchSpace& space);

// Value at unit coordinate u in [0, 1): the inverse CDF of the entry, before `times`.
double ValueAt(const RangeEntry& range, double u);

// Unit coordinate of a value, the inverse of ValueAt; for "how near an edge did the winner lie". In [0, 1] for values in
// the range.
double CoordinateOf(const RangeEntry& range, double value);

}  // namespace stepcurve
