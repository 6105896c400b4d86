// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include <pqxx/pqxx>

namespace stepcurve {

// A fixed pool of libpqxx connections to one database and schema. Thread-safe; a connection, and everything that hangs from it,
// belongs to the thread that runs a body. Broken connections are dropped and made afresh by the next call.
//
// Failures of every store are by SQLSTATE (StatusFromSqlState): ABORTED 40001, 40P01 · UNAVAILABLE 08*, 57P*, 25006, 53300, and
// no connection · RESOURCE_EXHAUSTED 53100, 53200 · INVALID_ARGUMENT 22* · DEADLINE_EXCEEDED 57014 · ALREADY_EXISTS 23505 · FAILED_PRECONDITION other
// 23* · UNKNOWN a commit whose outcome is not known · INTERNAL the rest. Messages carry no SQL.
class Database final {
 public:
  struct Options {
    std::string conninfo;             // libpq's; a password belongs into PGPASSFILE.
    std::string schema = "public";
    int connections = 8;
    absl::Duration wait = absl::Seconds(5);  // For a free connection, then UNAVAILABLE.
  };

  // Connects once, so that a wrong address is told at start. Refuses (FAILED_PRECONDITION) a database that is not durable: fsync,
  // full_page_writes or synchronous_commit off.
  static absl::StatusOr<std::unique_ptr<Database>> Connect(const Options& options);
  ~Database();

  const Options& options() const;

  // Runs `body` in one transaction and commits if it returns OK. ABORTED (serialization, deadlock) is retried from the start a few
  // times, so the body changes program state only through what it returns. No other failure is retried.
  absl::Status Transaction(absl::FunctionRef<absl::Status(pqxx::work&)> body);

  // The same without a write: READ ONLY.
  absl::Status Read(absl::FunctionRef<absl::Status(pqxx::read_transaction&)> body);

 private:
  struct Pool;
  explicit Database(std::unique_ptr<Pool> pool);
  std::unique_ptr<Pool> pool_;
};

// One status for an SQLSTATE of five characters; `message` is PostgreSQL's primary message.
absl::Status StatusFromSqlState(absl::string_view sqlstate, absl::string_view message);

}  // namespace stepcurve
