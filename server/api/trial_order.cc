// SPDX-License-Identifier: Apache-2.0
#include "server/api/trial_order.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

std::optional<double> KeyOf(const TrialRow& row, const std::string& order_by, const TrialScope& scope,
                            const absl::flat_hash_map<int64_t, Staircase>& goal_stairs) {
  if (order_by == "steps" || order_by == "value") {
    const auto stairs = goal_stairs.find(row.id);
    if (stairs == goal_stairs.end() || stairs->second.values.empty()) return std::nullopt;
    if (order_by == "value") return stairs->second.values.back();
    const std::optional<int64_t> steps = FirstPast(stairs->second, *scope.goal);
    return steps.has_value() ? std::optional<double>(static_cast<double>(*steps)) : std::nullopt;
  }
  const std::vector<std::string> names = scope.StudyOf(row).definition.ParameterNames();
  const size_t index = std::find(names.begin(), names.end(), order_by) - names.begin();
  if (index >= row.parameters.size() || std::isnan(row.parameters[index])) return std::nullopt;
  return row.parameters[index];
}

bool Before(const OrderedTrial& a, const OrderedTrial& b, bool descending) {
  if (a.key.has_value() != b.key.has_value()) return a.key.has_value();
  if (a.key.has_value() && *a.key != *b.key) return descending ? *a.key > *b.key : *a.key < *b.key;
  return std::tie(a.row.study, a.row.number, a.row.repeat) < std::tie(b.row.study, b.row.number, b.row.repeat);
}

}  // namespace

absl::Status CheckOrder(const std::string& order_by, const TrialScope& scope) {
  if (order_by == "steps" || order_by == "value") {
    if (scope.goal.has_value()) return absl::OkStatus();
    return FieldError("order_by", absl::StrFormat("is %s, which needs a goal; give one", order_by));
  }
  for (const StudyRow& study : scope.studies) {
    const std::vector<std::string> names = study.definition.ParameterNames();
    if (std::find(names.begin(), names.end(), order_by) == names.end()) {
      return FieldError(
          "order_by",
          absl::StrFormat("is \"%s\"; it must be empty, steps, value, or a parameter of %s at "
                          "batch size %d: %s",
                          order_by, study.address, study.definition.batch_size, absl::StrJoin(names, ", ")));
    }
  }
  return absl::OkStatus();
}

std::vector<OrderedTrial> SortTrials(std::vector<TrialRow> rows, const std::string& order_by, bool descending,
                                     const TrialScope& scope,
                                     const absl::flat_hash_map<int64_t, Staircase>& goal_stairs) {
  std::vector<OrderedTrial> trials;
  trials.reserve(rows.size());
  for (TrialRow& row : rows) {
    const std::optional<double> key = KeyOf(row, order_by, scope, goal_stairs);
    trials.push_back({.key = key, .row = std::move(row)});
  }
  std::sort(trials.begin(), trials.end(),
            [&](const OrderedTrial& a, const OrderedTrial& b) { return Before(a, b, descending); });
  return trials;
}

std::vector<int64_t> OrderPlace(const OrderedTrial& trial) {
  const double key = trial.key.value_or(0);
  int64_t bits = 0;
  std::memcpy(&bits, &key, sizeof bits);
  return {trial.key.has_value() ? 1 : 0, bits, trial.row.study, trial.row.number, trial.row.repeat};
}

size_t FirstAfter(const std::vector<OrderedTrial>& trials, const std::vector<int64_t>& place, bool descending) {
  OrderedTrial last;
  if (place[0] != 0) {
    double key = 0;
    std::memcpy(&key, &place[1], sizeof key);
    last.key = key;
  }
  last.row.study = place[2];
  last.row.number = place[3];
  last.row.repeat = static_cast<int32_t>(place[4]);
  return std::partition_point(trials.begin(), trials.end(),
                              [&](const OrderedTrial& trial) { return !Before(last, trial, descending); }) -
         trials.begin();
}

}  // namespace stepcurve
