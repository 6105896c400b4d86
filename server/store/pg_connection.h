// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/store/database.h"

#include <libpq-fe.h>

namespace stepcurve {

// Parameters of one statement, in order: $1, $2, ... An enum is a text with a cast ($1::trial_state).
class PgParams final {
 public:
  PgParams& Int64(int64_t value);
  PgParams& Int32(int32_t value);
  PgParams& Double(double value);
  PgParams& Bool(bool value);
  PgParams& Text(std::string_view value);
  PgParams& Bytes(std::string_view value);
  PgParams& Time(absl::Time value);
  PgParams& Int64s(absl::Span<const int64_t> values);
  PgParams& Int32s(absl::Span<const int32_t> values);
  PgParams& Doubles(absl::Span<const double> values);
  PgParams& Texts(absl::Span<const std::string> values);
  PgParams& Null();  // Of the type that the statement makes of it: give it a cast.

 private:
  friend class PgConnection;
  PgParams& Add(uint32_t type, std::string value);
  std::vector<Oid> types_;
  std::vector<std::optional<std::string>> values_;
};

// Rows of a statement, in binary. A getter must be of the column's exact type, so the statement casts where it has to;
// numeric and timestamptz are not read: cast to bigint, or take extract(epoch ...).
class PgResult final {
 public:
  explicit PgResult(PGresult* result) : result_(result) {}

  const PGresult* get() const { return result_.get(); }
  int rows() const { return PQntuples(result_.get()); }
  int64_t affected() const;  // Rows that an INSERT, UPDATE, DELETE or COPY wrote.

  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  int64_t Int64(int row, int column) const;
  int32_t Int32(int row, int column) const;
  int16_t Int16(int row, int column) const;
  double Double(int row, int column) const;
  bool Bool(int row, int column) const;
  // text, bytea, enum labels; alive as long as the result.
  std::string_view Text(int row, int column) const;
  std::vector<int64_t> Int64s(int row, int column) const;
  std::vector<int32_t> Int32s(int row, int column) const;
  std::vector<double> Doubles(int row, int column) const;
  std::vector<std::string> Texts(int row, int column) const;
  std::optional<int64_t> OptionalInt64(int row, int column) const;
  std::optional<double> OptionalDouble(int row, int column) const;

 private:
  struct Free {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Free> result_;
};

// One libpq connection to the schema of its options. For what libpqxx cannot do: binary COPY in a transaction with the
// rest. One thread at a time. Statements are unnamed, so that it works behind a pooler.
class PgConnection final {
 public:
  static absl::StatusOr<std::unique_ptr<PgConnection>> Open(const Database::Options& options);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  absl::StatusOr<PgResult> Execute(const char* sql, const PgParams& params = {});
  absl::Status Run(const char* sql);  // One or several statements, without parameters or rows.

  absl::Status Begin();
  // UNKNOWN when the connection broke before the answer came. ABORTED when the transaction had failed before.
  absl::Status Commit();
  void Rollback();  // Nothing happens where no transaction is open.

  // Whether it must be opened afresh.
  bool broken() const { return PQstatus(connection_) != CONNECTION_OK; }
  PGconn* handle() { return connection_; }

  // The status of what libpq has last complained about; `result` may be null.
  absl::Status Failure(const PGresult* result) const;

 private:
  explicit PgConnection(PGconn* connection) : connection_(connection) {}
  PGconn* connection_;
};

// Rolls back at its end unless committed.
class PgTransaction final {
 public:
  static absl::StatusOr<PgTransaction> Begin(PgConnection& connection);
  PgTransaction(PgTransaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  PgTransaction& operator=(PgTransaction&&) = delete;
  ~PgTransaction();
  absl::Status Commit();

 private:
  explicit PgTransaction(PgConnection* connection) : connection_(connection) {}
  PgConnection* connection_;
};

// `conninfo` with a connect timeout and our name where it gives none. INVALID_ARGUMENT where libpq cannot parse it.
absl::StatusOr<std::string> FullConninfo(const std::string& conninfo);

// What every session of ours sets first. INVALID_ARGUMENT for a schema that is not a plain lower-case name.
absl::StatusOr<std::string> SessionSettings(const std::string& schema);

}  // namespace stepcurve
