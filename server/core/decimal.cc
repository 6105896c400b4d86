// SPDX-License-Identifier: Apache-2.0
#include "server/core/decimal.h"

#include <cmath>
#include <limits>

namespace stepcurve {
namespace {

constexpr int64_t kMillion = 1'000'000;
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

}  // namespace

std::optional<int64_t> Millionths(double value) {
  if (!(std::abs(value) < 9e9)) return std::nullopt;
  const int64_t millionths = std::llround(value * kMillion);
  // Both are exact doubles, so the quotient is the double nearest to that decimal.
  if (static_cast<double>(millionths) / kMillion != value) return std::nullopt;
  return millionths;
}

std::optional<int64_t> CeilOf(double value, int64_t numerator, int64_t denominator) {
  if (const auto millionths = Millionths(value)) {
    const __int128 product = static_cast<__int128>(*millionths) * numerator;
    const __int128 divisor = static_cast<__int128>(denominator) * kMillion;
    const __int128 quotient = (product + divisor - 1) / divisor;
    if (quotient > kMaxInt64) return std::nullopt;
    return static_cast<int64_t>(quotient);
  }
  const double quotient = std::ceil(value * static_cast<double>(numerator) / static_cast<double>(denominator));
  if (!(quotient < 0x1p63)) return std::nullopt;
  return static_cast<int64_t>(quotient);
}

}  // namespace stepcurve
