// SPDX-License-Identifier: Apache-2.0
#include "proto/support/goal.h"

#include <charconv>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace stepcurve {
namespace {

bool IsMetric(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "train/") && !absl::ConsumePrefix(&text, "val/") &&
      !absl::ConsumePrefix(&text, "test/")) {
    return false;
  }
  if (text.empty() || !absl::ascii_islower(text[0])) return false;
  for (char c : text) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '_') return false;
  }
  return true;
}

absl::string_view Sign(Goal::Comparison comparison) {
  switch (comparison) {
    case Goal::Comparison::kLess:
      return "<";
    case Goal::Comparison::kLessOrEqual:
      return "<=";
    case Goal::Comparison::kGreater:
      return ">";
    case Goal::Comparison::kGreaterOrEqual:
      return ">=";
  }
  return "?";
}

}  // namespace

bool Goal::IsPast(double value) const {
  switch (comparison) {
    case Comparison::kLess:
      return value < threshold;
    case Comparison::kLessOrEqual:
      return value <= threshold;
    case Comparison::kGreater:
      return value > threshold;
    case Comparison::kGreaterOrEqual:
      return value >= threshold;
  }
  return false;
}

absl::StatusOr<Goal> ParseGoal(absl::string_view text) {
  constexpr absl::string_view kForm = "a goal is SPLIT/METRIC OP NUMBER, for example \"val/classification_error < 0.1\"";
  const size_t sign = text.find_first_of("<>");
  if (sign == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrFormat("goal \"%s\" has no <, <=, > or >=; %s", text, kForm));
  }
  Goal goal;
  goal.metric = std::string(absl::StripAsciiWhitespace(text.substr(0, sign)));
  if (!IsMetric(goal.metric)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "goal \"%s\": \"%s\" is no metric; a metric is train/, val/ or test/ and a name of [a-z0-9_]", text, goal.metric));
  }
  absl::string_view rest = text.substr(sign + 1);
  const bool inclusive = absl::ConsumePrefix(&rest, "=");
  goal.comparison = text[sign] == '<' ? (inclusive ? Goal::Comparison::kLessOrEqual : Goal::Comparison::kLess)
                                      : (inclusive ? Goal::Comparison::kGreaterOrEqual : Goal::Comparison::kGreater);
  const absl::string_view number = absl::StripAsciiWhitespace(rest);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), goal.threshold);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(goal.threshold)) {
    return absl::InvalidArgumentError(absl::StrFormat("goal \"%s\": \"%s\" is no finite number; %s", text, number, kForm));
  }
  return goal;
}

std::string FormatGoal(const Goal& goal) {
  return absl::StrCat(goal.metric, " ", Sign(goal.comparison), " ", FormatDouble(goal.threshold));
}

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

}  // namespace stepcurve
