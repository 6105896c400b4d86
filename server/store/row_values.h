// SPDX-License-Identifier: Apache-2.0
//
// Values of ours out of a libpqxx row. What cannot be read throws, as libpqxx's own conversions do; CatchPqxx makes it
// INTERNAL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/state.h"
#include "server/core/study_definition.h"

#include <pqxx/pqxx>

namespace stepcurve {

// In SQL, `micros` of a timestamptz t is (extract(epoch FROM t) * 1000000)::bigint.
absl::Time TimeAt(const pqxx::field& micros);
std::optional<absl::Time> OptionalTimeAt(const pqxx::field& micros);
std::optional<int64_t> OptionalInt64At(const pqxx::field& field);
std::string TextAt(const pqxx::field& field);  // "" for NULL.
std::string BytesAt(const pqxx::field& bytea);

TrialState TrialStateAt(const pqxx::field& label);
SweepState SweepStateAt(const pqxx::field& label);
std::optional<EndReason> EndReasonAt(const pqxx::field& label);
Semantics SemanticsAt(const pqxx::field& label);

std::vector<int64_t> Int64sAt(const pqxx::field& array);  // Empty for NULL, as the two below.
std::vector<double> DoublesAt(const pqxx::field& array);
std::vector<std::string> TextsAt(const pqxx::field& array);

// Seven columns from `first` on, in the order of the states.
StateCounts CountsAt(const pqxx::row& row, int first);

// A cancelled sweep's counts as people see them: nothing of it is queued or running, though its rows may still be
// turned.
void ShowOpenAsCancelled(StateCounts& counts);

// The label of `semantics` in the database.
absl::string_view SemanticsLabel(Semantics semantics);

}  // namespace stepcurve
