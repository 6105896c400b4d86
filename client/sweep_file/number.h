// SPDX-License-Identifier: Apache-2.0
//
// The one grammar of numbers in sweep files:
//
//   number = ["-"] (whole ["." {digit}] | "." digit {digit}) [("e" | "E") ["-" | "+"] digit {digit}]
//   whole  = "0" | nonzero-digit {digit}
//
// So 5000, .5, 1e-3 and 1E-03 are numbers, and 010, 0x10, 1_000, +1, .nan and .inf are not. What is accepted is exact:
// a real number is the nearest double, and a number that no double is near (1e400, 1e-400) is refused; an integer may
// be written with a point or an exponent (1e6) as long as its value is an integer that fits 64 bits.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// Whether `text` follows the grammar.
bool IsNumber(absl::string_view text);

// Whether `text`, though no number, was surely meant as one: 010, 0x10, 1_000, +1, .nan, 5%.
bool LooksLikeNumber(absl::string_view text);

// INVALID_ARGUMENT says what is wrong with `text` and how a number is written.
absl::StatusOr<double> ParseReal(absl::string_view text);
absl::StatusOr<int64_t> ParseInteger(absl::string_view text);

// The shortest text that ParseReal reads as the same double, without an exponent from 0.001 to 1e15 where that is as
// exact. `value` is finite.
std::string FormatReal(double value);

}  // namespace stepcurve
