// SPDX-License-Identifier: Apache-2.0
#include "server/store/pg_connection.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_binary.h"

namespace stepcurve {

PgParams& PgParams::Add(uint32_t type, std::string value) {
  types_.push_back(type);
  values_.push_back(std::move(value));
  return *this;
}

PgParams& PgParams::Int64(int64_t value) {
  std::string bytes;
  pg::Append(bytes, value);
  return Add(pg::kInt8, std::move(bytes));
}
PgParams& PgParams::Int32(int32_t value) {
  std::string bytes;
  pg::Append(bytes, value);
  return Add(pg::kInt4, std::move(bytes));
}
PgParams& PgParams::Double(double value) {
  std::string bytes;
  pg::Append(bytes, value);
  return Add(pg::kFloat8, std::move(bytes));
}
PgParams& PgParams::Bool(bool value) { return Add(pg::kBool, std::string(1, value ? 1 : 0)); }
PgParams& PgParams::Text(std::string_view value) { return Add(pg::kText, std::string(value)); }
PgParams& PgParams::Bytes(std::string_view value) { return Add(pg::kBytea, std::string(value)); }
PgParams& PgParams::Time(absl::Time value) {
  std::string bytes;
  pg::Append(bytes, pg::TimestampMicros(value));
  return Add(pg::kTimestamptz, std::move(bytes));
}
PgParams& PgParams::Int64s(absl::Span<const int64_t> values) {
  std::string bytes;
  pg::AppendArray(bytes, pg::kInt8, values);
  return Add(pg::kInt8Array, std::move(bytes));
}
PgParams& PgParams::Int32s(absl::Span<const int32_t> values) {
  std::string bytes;
  pg::AppendArray(bytes, pg::kInt4, values);
  return Add(pg::kInt4Array, std::move(bytes));
}
PgParams& PgParams::Doubles(absl::Span<const double> values) {
  std::string bytes;
  pg::AppendArray(bytes, pg::kFloat8, values);
  return Add(pg::kFloat8Array, std::move(bytes));
}
PgParams& PgParams::Texts(absl::Span<const std::string> values) {
  std::string bytes;
  pg::AppendTexts(bytes, values);
  return Add(pg::kTextArray, std::move(bytes));
}
PgParams& PgParams::Null() {
  types_.push_back(0);  // The statement's cast decides.
  values_.push_back(std::nullopt);
  return *this;
}

absl::StatusOr<std::unique_ptr<PgConnection>> PgConnection::Open(const Database::Options& options) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::string conninfo, FullConninfo(options.conninfo));
  STEPCURVE_ASSIGN_OR_RETURN(const std::string settings, SessionSettings(options.schema));
  std::unique_ptr<PgConnection> connection(new PgConnection(PQconnectdb(conninfo.c_str())));
  if (connection->broken()) {
    return absl::UnavailableError(absl::StrCat("cannot connect to PostgreSQL: ",
                                               absl::StripAsciiWhitespace(PQerrorMessage(connection->handle()))));
  }
  STEPCURVE_RETURN_IF_ERROR(connection->Run(settings.c_str()));
  return connection;
}

PgConnection::~PgConnection() { PQfinish(connection_); }

absl::Status PgConnection::Failure(const PGresult* result) const {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (sqlstate != nullptr) {
    return StatusFromSqlState(sqlstate, message == nullptr ? "" : message);
  }
  const absl::string_view text = absl::StripAsciiWhitespace(PQerrorMessage(connection_));
  if (broken()) {
    return absl::UnavailableError(absl::StrCat("the connection to PostgreSQL is lost: ", text));
  }
  return absl::InternalError(text);
}

absl::StatusOr<PgResult> PgConnection::Execute(const char* sql, const PgParams& params) {
  std::vector<const char*> values;
  std::vector<int> lengths;
  const std::vector<int> formats(params.values_.size(), 1);
  for (const std::optional<std::string>& value : params.values_) {
    values.push_back(value.has_value() ? value->data() : nullptr);
    lengths.push_back(value.has_value() ? static_cast<int>(value->size()) : 0);
  }
  PgResult result(PQexecParams(connection_, sql, static_cast<int>(values.size()), params.types_.data(), values.data(),
                               lengths.data(), formats.data(), /*resultFormat=*/1));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    return Failure(result.get());
  }
  return result;
}

absl::Status PgConnection::Run(const char* sql) {
  const PgResult result(PQexec(connection_, sql));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    return Failure(result.get());
  }
  return absl::OkStatus();
}

absl::Status PgConnection::Begin() { return Run("BEGIN"); }

absl::Status PgConnection::Commit() {
  PgResult result(PQexec(connection_, "COMMIT"));
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) {
    if (broken()) {
      return absl::UnknownError("the connection to PostgreSQL was lost during a commit: it may have succeeded");
    }
    return Failure(result.get());
  }
  // PostgreSQL answers the COMMIT of a failed transaction with success and the tag ROLLBACK.
  if (std::string_view(PQcmdStatus(const_cast<PGresult*>(result.get()))) != "COMMIT") {
    return absl::AbortedError("the transaction had failed and was rolled back");
  }
  return absl::OkStatus();
}

void PgConnection::Rollback() {
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE) {
    PQclear(PQexec(connection_, "ROLLBACK"));
  }
}

absl::StatusOr<PgTransaction> PgTransaction::Begin(PgConnection& connection) {
  STEPCURVE_RETURN_IF_ERROR(connection.Begin());
  return PgTransaction(&connection);
}

PgTransaction::~PgTransaction() {
  if (connection_ != nullptr) {
    connection_->Rollback();
  }
}

absl::Status PgTransaction::Commit() { return std::exchange(connection_, nullptr)->Commit(); }

absl::StatusOr<std::string> FullConninfo(const std::string& conninfo) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(PQconninfoParse(conninfo.c_str(), &error),
                                                                            &PQconninfoFree);
  if (parsed == nullptr) {
    const std::string message(absl::StripAsciiWhitespace(error == nullptr ? "out of memory" : error));
    PQfreemem(error);
    return absl::InvalidArgumentError(absl::StrCat("the database's address cannot be read: ", message));
  }
  std::string full;
  const auto add = [&full](absl::string_view keyword, absl::string_view value) {
    absl::StrAppend(&full, full.empty() ? "" : " ", keyword, "='");
    for (const char c : value) {
      if (c == '\'' || c == '\\') {
        full.push_back('\\');
      }
      full.push_back(c);
    }
    full.push_back('\'');
  };
  bool has_timeout = std::getenv("PGCONNECT_TIMEOUT") != nullptr;
  bool has_name = std::getenv("PGAPPNAME") != nullptr;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) {
      continue;
    }
    has_timeout |= absl::string_view(option->keyword) == "connect_timeout";
    has_name |= absl::string_view(option->keyword) == "application_name";
    add(option->keyword, option->val);
  }
  if (!has_timeout) {
    add("connect_timeout", "10");
  }
  if (!has_name) {
    add("application_name", "stepcurve-server");
  }
  return full;
}

absl::StatusOr<std::string> SessionSettings(const std::string& schema) {
  bool plain = !schema.empty() && schema.size() <= 63 && !absl::ascii_isdigit(schema[0]);
  for (const char c : schema) {
    plain &= absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  }
  if (!plain) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema is \"", schema,
                     "\"; it must be lower-case letters, digits and underscores, and not begin with a digit"));
  }
  // A transaction that its server has forgotten (a stopped process) must not hold locks for ever.
  return absl::StrCat("SET search_path TO \"", schema,
                      "\"; SET client_min_messages TO warning; SET idle_in_transaction_session_timeout TO '60s'");
}

}  // namespace stepcurve
