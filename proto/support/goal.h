// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// "val/classification_error < 0.1": which measurements count as reaching the result.
struct Goal {
  enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual };
  std::string metric;
  Comparison comparison = Comparison::kLess;
  double threshold = 0;

  // Whether smaller values are better.
  bool falling() const { return comparison == Comparison::kLess || comparison == Comparison::kLessOrEqual; }
  // NaN is never past a goal; a value equal to the threshold only where the comparison includes it.
  bool IsPast(double value) const;

  friend bool operator==(const Goal&, const Goal&) = default;
};

// Parses "SPLIT/METRIC OP NUMBER" with any spacing; SPLIT train, val or test, METRIC [a-z][a-z0-9_]*, NUMBER a finite
// decimal or exponent. INVALID_ARGUMENT says which part is wrong and what is allowed.
absl::StatusOr<Goal> ParseGoal(absl::string_view text);

// The shortest text that parses to the same goal.
std::string FormatGoal(const Goal& goal);

// The shortest decimal that reads back as the same double: "0.1", "1e-04" never "1.0000000000000000e-04".
std::string FormatDouble(double value);

}  // namespace stepcurve
