// SPDX-License-Identifier: Apache-2.0
#include "server/store/row_values.h"

#include <array>
#include <utility>

#include "server/store/pg_array.h"

namespace stepcurve {
namespace {

constexpr std::array<absl::string_view, 2> kSemanticsNames = {"published", "reached"};

// The enum value whose name `label` is.
template <typename Enum, size_t n>
Enum Named(const std::array<absl::string_view, n>& names, const pqxx::field& label) {
  for (size_t i = 0; i < n; ++i) {
    if (names[i] == label.c_str()) {
      return static_cast<Enum>(i);
    }
  }
  throw pqxx::conversion_error(std::string(label.name()) + " is '" + label.c_str() +
                               "', which this server does not know");
}

template <typename T>
T OrThrow(absl::StatusOr<T> values) {
  if (!values.ok()) {
    throw pqxx::conversion_error(std::string(values.status().message()));
  }
  return *std::move(values);
}

}  // namespace

absl::Time TimeAt(const pqxx::field& micros) { return absl::FromUnixMicros(micros.as<int64_t>()); }

std::optional<absl::Time> OptionalTimeAt(const pqxx::field& micros) {
  return micros.is_null() ? std::nullopt : std::optional(TimeAt(micros));
}

std::optional<int64_t> OptionalInt64At(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<int64_t>());
}

std::string TextAt(const pqxx::field& field) { return field.is_null() ? "" : field.c_str(); }

std::string BytesAt(const pqxx::field& bytea) { return bytea.is_null() ? "" : pqxx::binarystring(bytea).str(); }

TrialState TrialStateAt(const pqxx::field& label) { return Named<TrialState>(kTrialStateNames, label); }
SweepState SweepStateAt(const pqxx::field& label) { return Named<SweepState>(kSweepStateNames, label); }
Semantics SemanticsAt(const pqxx::field& label) { return Named<Semantics>(kSemanticsNames, label); }

std::optional<EndReason> EndReasonAt(const pqxx::field& label) {
  return label.is_null() ? std::nullopt : std::optional(Named<EndReason>(kEndReasonNames, label));
}

std::vector<int64_t> Int64sAt(const pqxx::field& array) {
  return array.is_null() ? std::vector<int64_t>() : OrThrow(ParseInt64Array(array.c_str()));
}
std::vector<double> DoublesAt(const pqxx::field& array) {
  return array.is_null() ? std::vector<double>() : OrThrow(ParseDoubleArray(array.c_str()));
}
std::vector<std::string> TextsAt(const pqxx::field& array) {
  return array.is_null() ? std::vector<std::string>() : OrThrow(ParseTextArray(array.c_str()));
}

StateCounts CountsAt(const pqxx::row& row, int first) {
  StateCounts counts;
  for (size_t i = 0; i < kTrialStates; ++i) {
    counts.by_state[i] = row[first + static_cast<int>(i)].as<int64_t>();
  }
  return counts;
}

void ShowOpenAsCancelled(StateCounts& counts) {
  counts[TrialState::kCancelled] += counts.open();
  counts[TrialState::kQueued] = 0;
  counts[TrialState::kRunning] = 0;
}

absl::string_view SemanticsLabel(Semantics semantics) { return kSemanticsNames[static_cast<size_t>(semantics)]; }

}  // namespace stepcurve
