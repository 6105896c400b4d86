// SPDX-License-Identifier: Apache-2.0
#include "server/search/space.h"

#include <algorithm>
#include <cmath>

namespace stepcurve {
namespace {

// The coordinate in which a range is uniform; rising for every scale, so that 0 is always the low end.
double ToScale(Scale scale, double value) {
  switch (scale) {
    case Scale::kLinear:
      return value;
    case Scale::kLog:
      return std::log10(value);  // To the base 10, so that a grid over decades meets them.
    case Scale::kReverseLog:
      return -std::log1p(-value);
  }
  return value;
}

double FromScale(Scale scale, double scaled) {
  switch (scale) {
    case Scale::kLinear:
      return scaled;
    case Scale::kLog:
      return std::pow(10, scaled);
    case Scale::kReverseLog:
      return -std::expm1(-scaled);
  }
  return scaled;
}

// Ends of what u runs over. Each integer owns the values that round to it, so half a cell is added at both ends.
struct Ends {
  double low;
  double high;
};
Ends ScaledEnds(const RangeEntry& range) {
  const double margin = range.integer ? 0.5 : 0;
  return {ToScale(range.scale, range.min - margin), ToScale(range.scale, range.max + margin)};
}

}  // namespace

int Dimensions(const SearchSpace& space) {
  return static_cast<int>(
      std::count_if(space.begin(), space.end(), [](const SpaceEntry& entry) { return !entry.fixed(); }));
}

double ValueAt(const RangeEntry& range, double u) {
  const Ends ends = ScaledEnds(range);
  // Not low + u (high - low): the difference of two huge ends may be beyond a double.
  const double value = FromScale(range.scale, (1 - u) * ends.low + u * ends.high);
  // + 0.0: rounding may leave a negative zero.
  return std::clamp(range.integer ? std::round(value) + 0.0 : value, range.min, range.max);
}

double CoordinateOf(const RangeEntry& range, double value) {
  const Ends ends = ScaledEnds(range);
  // Halved, so that no difference overflows.
  const double offset = ToScale(range.scale, value) / 2 - ends.low / 2;
  return std::clamp(offset / (ends.high / 2 - ends.low / 2), 0.0, 1.0);
}

}  // namespace stepcurve
