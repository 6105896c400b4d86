// SPDX-License-Identifier: Apache-2.0
#include "tests/support/postgres.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/store/migrate.h"

#include <libpq-fe.h>

namespace stepcurve {
namespace {

// Unique among tests that run at once, on this machine and others.
std::string FreshSchema() {
  static std::atomic<int> counter{0};
  return absl::StrCat("test_", absl::GetCurrentTimeNanos() / 1000, "_", getpid(), "_", counter++);
}

std::vector<std::string> Execute(const std::string& conninfo, const std::string& statements) {
  std::vector<std::string> rows;
  PGconn* connection = PQconnectdb(conninfo.c_str());
  PQsetNoticeProcessor(
      connection, [](void*, const char*) {}, nullptr);
  PGresult* result = PQexec(connection, statements.c_str());
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    ADD_FAILURE() << PQerrorMessage(connection) << "in: " << statements;
  }
  for (int row = 0; row < PQntuples(result); ++row) {
    std::string& line = rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      absl::StrAppend(&line, column == 0 ? "" : "|", PQgetvalue(result, row, column));
    }
  }
  PQclear(result);
  PQfinish(connection);
  return rows;
}

}  // namespace

std::string TestConninfo() {
  const char* conninfo = std::getenv("STEPCURVE_TEST_POSTGRES");
  if (conninfo == nullptr) {
    ADD_FAILURE() << "STEPCURVE_TEST_POSTGRES is not set: it names the PostgreSQL that tests use, as libpq's conninfo";
    return "";
  }
  return conninfo;
}

void PostgresTest::SetUp() {
  options_.conninfo = TestConninfo();
  options_.schema = FreshSchema();
  options_.connections = 4;
  ASSERT_FALSE(options_.conninfo.empty());
  auto database = Database::Connect(options_);
  ASSERT_TRUE(database.ok()) << database.status();
  database_ = *std::move(database);
  if (migrated()) {
    const absl::Status status = Migrate(*database_);
    ASSERT_TRUE(status.ok()) << status;
  }
}

void PostgresTest::TearDown() {
  database_ = nullptr;
  if (!options_.conninfo.empty()) {
    Execute(options_.conninfo, absl::StrCat("DROP SCHEMA IF EXISTS ", options_.schema, " CASCADE"));
  }
}

std::vector<std::string> PostgresTest::Sql(const std::string& statements) {
  return Execute(options_.conninfo, absl::StrCat("SET search_path TO ", options_.schema, "; ", statements));
}

std::string PostgresTest::Value(const std::string& statement) {
  const std::vector<std::string> rows = Sql(statement);
  if (rows.size() != 1) {
    ADD_FAILURE() << rows.size() << " rows in: " << statement;
    return "";
  }
  return rows[0];
}

int64_t PostgresTest::Number(const std::string& statement) {
  int64_t number = 0;
  EXPECT_TRUE(absl::SimpleAtoi(Value(statement), &number)) << statement;
  return number;
}

}  // namespace stepcurve
