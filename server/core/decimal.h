// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on numbers that people wrote as short decimals: 0.1 epochs of 55,000 examples are 5,500, which the double
// nearest to 0.1 does not promise.
#pragma once

#include <cstdint>
#include <optional>

namespace stepcurve {

// Millionths of a number with at most six decimals (and magnitude below 9e9); none for any other.
std::optional<int64_t> Millionths(double value);

// ceil(value x numerator / denominator) for value >= 0, exact for at most six decimals; none beyond an int64.
std::optional<int64_t> CeilOf(double value, int64_t numerator, int64_t denominator);

}  // namespace stepcurve
