// SPDX-License-Identifier: Apache-2.0
#include "server/store/pg_array.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

absl::Status NotAnArray(absl::string_view text) {
  return absl::DataLossError(absl::StrCat("not a PostgreSQL array: ", text.substr(0, 60)));
}

// Elements of "{a,b}" that need no quotes.
absl::StatusOr<std::vector<absl::string_view>> PlainElements(absl::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    return NotAnArray(text);
  }
  const absl::string_view inside = text.substr(1, text.size() - 2);
  if (inside.empty()) {
    return std::vector<absl::string_view>();
  }
  return std::vector<absl::string_view>(absl::StrSplit(inside, ','));
}

// std::to_string rounds; 17 digits do not.
std::string DoubleText(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  return absl::StrFormat("%.17g", value);
}

}  // namespace

std::string ArrayText(absl::Span<const int64_t> values) { return absl::StrCat("{", absl::StrJoin(values, ","), "}"); }
std::string ArrayText(absl::Span<const int32_t> values) { return absl::StrCat("{", absl::StrJoin(values, ","), "}"); }

std::string ArrayText(absl::Span<const double> values) {
  return absl::StrCat(
      "{", absl::StrJoin(values, ",", [](std::string* out, double value) { absl::StrAppend(out, DoubleText(value)); }),
      "}");
}

std::string ArrayText(absl::Span<const std::string> values) {
  std::string text = "{";
  for (const std::string& value : values) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", "\"");
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text.push_back('\\');
      }
      text.push_back(c);
    }
    text.push_back('"');
  }
  text.push_back('}');
  return text;
}

absl::StatusOr<std::vector<int64_t>> ParseInt64Array(absl::string_view text) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> elements, PlainElements(text));
  std::vector<int64_t> values;
  for (const absl::string_view element : elements) {
    if (!absl::SimpleAtoi(element, &values.emplace_back())) {
      return NotAnArray(text);
    }
  }
  return values;
}

absl::StatusOr<std::vector<double>> ParseDoubleArray(absl::string_view text) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> elements, PlainElements(text));
  std::vector<double> values;
  for (const absl::string_view element : elements) {
    if (!absl::SimpleAtod(element, &values.emplace_back())) {
      return NotAnArray(text);
    }
  }
  return values;
}

absl::StatusOr<std::vector<std::string>> ParseTextArray(absl::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    return NotAnArray(text);
  }
  std::vector<std::string> values;
  size_t at = 1;
  while (text[at] != '}') {
    std::string& value = values.emplace_back();
    const bool quoted = text[at] == '"';
    at += quoted ? 1 : 0;
    while (at < text.size() && (quoted ? text[at] != '"' : text[at] != ',' && text[at] != '}')) {
      at += text[at] == '\\' ? 1 : 0;
      if (at < text.size()) {
        value.push_back(text[at++]);
      }
    }
    at += quoted ? 1 : 0;
    if (at < text.size() && text[at] == ',') {
      ++at;
    }
    if (at >= text.size()) {
      return NotAnArray(text);
    }
  }
  return values;
}

}  // namespace stepcurve
