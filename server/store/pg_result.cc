// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "server/store/pg_binary.h"
#include "server/store/pg_connection.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

constexpr size_t kArrayHead = 5 * sizeof(int32_t);  // Dimensions, nulls, type, length, lower bound.

// Calls `element` with the bytes of each value of a one-dimensional array; none of ours holds nulls.
template <typename Element>
void ReadArray(const char* in, Element element) {
  if (pg::Read<int32_t>(in) == 0) {
    return;
  }
  const int32_t count = pg::Read<int32_t>(in + 3 * sizeof(int32_t));
  in += kArrayHead;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t length = pg::Read<int32_t>(in);
    in += sizeof(int32_t);
    element(in, length);
    in += length;
  }
}

template <typename T>
std::vector<T> ReadNumbers(const char* in) {
  std::vector<T> values;
  ReadArray(in, [&values](const char* bytes, int32_t) { values.push_back(pg::Read<T>(bytes)); });
  return values;
}

// A NULL or a column of another width is a mistake in the statement's text, which no caller can mend.
template <typename T>
T ReadFixed(const PGresult* result, int row, int column) {
  if (PQgetlength(result, row, column) != sizeof(T)) {
    spdlog::critical("column {} has {} bytes where {} are read", PQfname(result, column),
                     PQgetlength(result, row, column), sizeof(T));
    std::abort();
  }
  return pg::Read<T>(PQgetvalue(result, row, column));
}

}  // namespace

int64_t PgResult::affected() const {
  int64_t rows = 0;
  return absl::SimpleAtoi(PQcmdTuples(result_.get()), &rows) ? rows : 0;
}

int64_t PgResult::Int64(int row, int column) const { return ReadFixed<int64_t>(result_.get(), row, column); }
int32_t PgResult::Int32(int row, int column) const { return ReadFixed<int32_t>(result_.get(), row, column); }
int16_t PgResult::Int16(int row, int column) const { return ReadFixed<int16_t>(result_.get(), row, column); }
double PgResult::Double(int row, int column) const { return ReadFixed<double>(result_.get(), row, column); }
bool PgResult::Bool(int row, int column) const { return *PQgetvalue(result_.get(), row, column) != 0; }

std::string_view PgResult::Text(int row, int column) const {
  return std::string_view(PQgetvalue(result_.get(), row, column),
                          static_cast<size_t>(PQgetlength(result_.get(), row, column)));
}

std::vector<int64_t> PgResult::Int64s(int row, int column) const {
  return ReadNumbers<int64_t>(PQgetvalue(result_.get(), row, column));
}
std::vector<int32_t> PgResult::Int32s(int row, int column) const {
  return ReadNumbers<int32_t>(PQgetvalue(result_.get(), row, column));
}
std::vector<double> PgResult::Doubles(int row, int column) const {
  return ReadNumbers<double>(PQgetvalue(result_.get(), row, column));
}
std::vector<std::string> PgResult::Texts(int row, int column) const {
  std::vector<std::string> values;
  ReadArray(PQgetvalue(result_.get(), row, column),
            [&values](const char* bytes, int32_t length) { values.emplace_back(bytes, length); });
  return values;
}

std::optional<int64_t> PgResult::OptionalInt64(int row, int column) const {
  return IsNull(row, column) ? std::nullopt : std::optional(Int64(row, column));
}
std::optional<double> PgResult::OptionalDouble(int row, int column) const {
  return IsNull(row, column) ? std::nullopt : std::optional(Double(row, column));
}

}  // namespace stepcurve
