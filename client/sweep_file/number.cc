// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/number.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

// A number taken apart: value = (negative ? -1 : 1) x digits x 10^exponent.
struct Parts {
  bool negative = false;
  std::string digits;  // Without leading and trailing zeros; empty for zero.
  int64_t exponent = 0;
};

absl::string_view TakeDigits(absl::string_view* text) {
  size_t n = 0;
  while (n < text->size() && absl::ascii_isdigit((*text)[n])) ++n;
  const absl::string_view digits = text->substr(0, n);
  text->remove_prefix(n);
  return digits;
}

std::optional<Parts> TakeApart(absl::string_view text) {
  Parts parts;
  parts.negative = absl::ConsumePrefix(&text, "-");
  const absl::string_view whole = TakeDigits(&text);
  if (whole.size() > 1 && whole[0] == '0') return std::nullopt;
  absl::string_view fraction;
  if (absl::ConsumePrefix(&text, ".")) fraction = TakeDigits(&text);
  if (whole.empty() && fraction.empty()) return std::nullopt;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    const bool down = absl::ConsumePrefix(&text, "-");
    if (!down) absl::ConsumePrefix(&text, "+");
    const absl::string_view power = TakeDigits(&text);
    if (power.empty()) return std::nullopt;
    for (char c : power) {
      // Far past any double; no text of digits is long enough to bring it back.
      if (parts.exponent < 1'000'000'000) parts.exponent = parts.exponent * 10 + (c - '0');
    }
    if (down) parts.exponent = -parts.exponent;
  }
  if (!text.empty()) return std::nullopt;
  parts.digits = std::string(whole) + std::string(fraction);
  parts.exponent -= static_cast<int64_t>(fraction.size());
  parts.digits.erase(0, std::min(parts.digits.find_first_not_of('0'), parts.digits.size()));
  while (!parts.digits.empty() && parts.digits.back() == '0') {
    parts.digits.pop_back();
    ++parts.exponent;
  }
  if (parts.digits.empty()) parts.exponent = 0;
  return parts;
}

absl::Status NotANumber(absl::string_view text) {
  absl::string_view why = "";
  absl::string_view body = text;
  absl::ConsumePrefix(&body, "-");
  if (absl::StartsWithIgnoreCase(body, "0x") || absl::StartsWithIgnoreCase(body, "0o")) {
    why = ": hexadecimal and octal are refused";
  } else if (body.size() > 1 && body[0] == '0' && absl::ascii_isdigit(body[1])) {
    why = ": leading zeros are refused";
  } else if (LooksLikeNumber(text) && absl::StrContains(text, "_")) {
    why = ": underscores are refused";
  } else if (absl::StartsWith(text, "+")) {
    why = ": a plus sign is refused";
  } else if (absl::StartsWithIgnoreCase(body, ".nan") || absl::StartsWithIgnoreCase(body, ".inf")) {
    why = ": it must be finite";
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("\"%s\" is not a number%s; write it as 5000, 0.5 or 1e-3", text, why));
}

}  // namespace

bool IsNumber(absl::string_view text) { return TakeApart(text).has_value(); }

bool LooksLikeNumber(absl::string_view text) {
  if (IsNumber(text)) return false;
  absl::string_view body = text;
  if (!absl::ConsumePrefix(&body, "-")) absl::ConsumePrefix(&body, "+");
  if (absl::EqualsIgnoreCase(body, ".nan") || absl::EqualsIgnoreCase(body, ".inf")) return true;
  absl::ConsumePrefix(&body, ".");
  return !body.empty() && absl::ascii_isdigit(body[0]);
}

absl::StatusOr<double> ParseReal(absl::string_view text) {
  const std::optional<Parts> parts = TakeApart(text);
  if (!parts.has_value()) return NotANumber(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool lost = value == 0 && !parts->digits.empty();
  if (error == std::errc::result_out_of_range || lost || !std::isfinite(value)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s does not fit a double; the magnitude must be 0 or between %.3g and %.3g", text,
                        std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()));
  }
  return value;
}

absl::StatusOr<int64_t> ParseInteger(absl::string_view text) {
  const std::optional<Parts> parts = TakeApart(text);
  if (!parts.has_value()) return NotANumber(text);
  if (parts->exponent < 0) return absl::InvalidArgumentError(absl::StrFormat("%s is not an integer", text));
  // Every int64 has at most 19 digits.
  std::string decimal = parts->negative && !parts->digits.empty() ? "-" : "";
  if (static_cast<int64_t>(parts->digits.size()) + parts->exponent <= 19) {
    decimal += parts->digits + std::string(parts->exponent, '0');
    if (parts->digits.empty()) decimal = "0";
    int64_t value = 0;
    const auto [end, error] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
    if (error == std::errc()) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s does not fit 64 bits; the largest integer is %d", text, std::numeric_limits<int64_t>::max()));
}

std::string FormatReal(double value) {
  char buffer[64];
  const double magnitude = std::fabs(value);
  if (magnitude >= 1e-3 && magnitude < 1e15) {
    const auto plain = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
    return std::string(buffer, plain.ptr);
  }
  const auto shortest = std::to_chars(buffer, buffer + sizeof(buffer), value);
  // to_chars writes 1e-04 and 1e+30 where people write 1e-4 and 1e30.
  return absl::StrReplaceAll(absl::string_view(buffer, shortest.ptr - buffer),
                             {{"e-0", "e-"}, {"e+0", "e"}, {"e+", "e"}});
}

}  // namespace stepcurve
