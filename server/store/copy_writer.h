// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/store/pg_connection.h"

namespace stepcurve {

// Writes rows of one table by binary COPY, within the connection's transaction. Between Begin and Finish the connection
// takes nothing else. Values go in the order of the statement's columns and must be of their exact types; an enum takes
// its label by Text, jsonb takes Jsonb.
//
//   ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, "COPY t (id, name) FROM STDIN (FORMAT binary)"));
//   copy.Row(2); copy.Int64(7); copy.Text("seven");
//   RETURN_IF_ERROR(copy.Finish());
//
// A failure on the way is kept and told by Finish. Destroyed without Finish, it fails the COPY and so the transaction.
class CopyWriter final {
 public:
  static absl::StatusOr<CopyWriter> Begin(PgConnection& connection, const char* statement);
  CopyWriter(CopyWriter&& other) noexcept;
  CopyWriter& operator=(CopyWriter&&) = delete;
  ~CopyWriter();

  void Row(int16_t columns);
  void Int64(int64_t value);
  void Int32(int32_t value);
  void Int16(int16_t value);
  void Double(double value);
  void Bool(bool value);
  void Text(std::string_view value);
  void Bytes(std::string_view value) { Text(value); }
  void Jsonb(std::string_view text);
  void Time(absl::Time value);
  void Int64s(absl::Span<const int64_t> values);
  void Int32s(absl::Span<const int32_t> values);
  void Doubles(absl::Span<const double> values);
  void Texts(absl::Span<const std::string> values);
  void Null();

  absl::Status Finish();

 private:
  explicit CopyWriter(PgConnection* connection);
  template <typename T>
  void Fixed(T value);
  template <typename Append>
  void Sized(Append append);
  void Send();

  PgConnection* connection_;
  std::string buffer_;
  absl::Status status_;
};

}  // namespace stepcurve
