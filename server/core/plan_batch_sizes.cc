// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"

#include "proto/support/goal.h"
#include "proto/support/status_macros.h"
#include "server/core/decimal.h"
#include "server/core/field_error.h"
#include "server/core/plan_workloads.h"

namespace stepcurve {
namespace {

// from, from x factor, ... up to `to`; each product must be a whole number.
absl::StatusOr<std::vector<int64_t>> Geometric(const GeometricSpec& range, const std::string& path) {
  if (range.from < 1) return FieldError(path + ".from", absl::StrCat("is ", range.from, "; it must be at least 1"));
  if (range.to < range.from) {
    return FieldError(path + ".to", absl::StrCat("is ", range.to, ", which is below from (", range.from, ")"));
  }
  if (!(range.factor > 1)) {
    return FieldError(path + ".factor", absl::StrCat("is ", FormatDouble(range.factor), "; it must be above 1"));
  }
  const auto factor = Millionths(range.factor);
  if (!factor.has_value()) {
    return FieldError(path + ".factor", absl::StrCat("is ", FormatDouble(range.factor),
                                                     "; it has at most six decimals and is below 9e9"));
  }
  std::vector<int64_t> sizes = {range.from};
  while (true) {
    const __int128 product = static_cast<__int128>(sizes.back()) * *factor;
    if (product > static_cast<__int128>(range.to) * 1'000'000) return sizes;
    if (product % 1'000'000 != 0) {
      return FieldError(path + ".factor", absl::StrCat(sizes.back(), " x ", FormatDouble(range.factor),
                                                       " is no whole number; choose another from or factor"));
    }
    sizes.push_back(static_cast<int64_t>(product / 1'000'000));
  }
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> PlanBatchSizes(const BatchSizesSpec& spec, const std::string& path,
                                                    const std::string& dataset, int64_t training_examples) {
  std::vector<int64_t> sizes = spec.sizes;
  if (spec.range.has_value()) {
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> range, Geometric(*spec.range, path));
    sizes.insert(sizes.end(), range.begin(), range.end());
  }
  if (spec.full) {
    if (training_examples == 0) {
      return FieldError(path,
                        absl::StrCat("full is the whole training set, and ", dataset, " has none; write a number"));
    }
    sizes.push_back(training_examples);
  }
  if (sizes.empty()) return FieldError(path, "is required: a list of batch sizes, or {from, to, factor}");
  std::sort(sizes.begin(), sizes.end());
  if (sizes.front() < 1)
    return FieldError(path, absl::StrCat(sizes.front(), " is no batch size; it must be at least 1"));
  if (training_examples > 0 && sizes.back() > training_examples) {
    return FieldError(path, absl::StrCat(sizes.back(), " is above the training set of ", dataset, " (",
                                         training_examples, "); write full"));
  }
  if (const auto twice = std::adjacent_find(sizes.begin(), sizes.end()); twice != sizes.end()) {
    return FieldError(path, absl::StrCat(*twice, " is there twice",
                                         spec.full && *twice == training_examples
                                             ? absl::StrCat("; full is ", training_examples, " for ", dataset)
                                             : ""));
  }
  return sizes;
}

}  // namespace stepcurve
