// SPDX-License-Identifier: Apache-2.0
#include "server/store/database.h"

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "server/store/pg_array.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

class DatabaseTest : public PostgresTest {
 protected:
  bool migrated() const override { return false; }
  void SetUp() override {
    PostgresTest::SetUp();
    Sql(absl::StrCat("CREATE SCHEMA ", options_.schema, "; CREATE TABLE t (id bigint PRIMARY KEY)"));
  }
  absl::Status Insert(int id) {
    return database_->Transaction([id](pqxx::work& work) {
      work.exec_params("INSERT INTO t VALUES ($1)", id);
      return absl::OkStatus();
    });
  }
};

TEST_F(DatabaseTest, CommitsWhatReturnsOkAndNothingElse) {
  EXPECT_THAT(Insert(1), IsOk());
  EXPECT_THAT(database_->Transaction([](pqxx::work& work) {
    work.exec("INSERT INTO t VALUES (2)");
    return absl::NotFoundError("changed its mind");
  }),
              Fails(absl::StatusCode::kNotFound, "changed its mind"));
  EXPECT_EQ(Value("SELECT string_agg(id::text, ',') FROM t"), "1");
}

TEST_F(DatabaseTest, CallsAnExistingKeyByItsCode) {
  ASSERT_THAT(Insert(1), IsOk());
  EXPECT_THAT(Insert(1), Fails(absl::StatusCode::kAlreadyExists, "t_pkey"));
}

TEST_F(DatabaseTest, AReadCannotWrite) {
  // 25006, as a standby would answer.
  EXPECT_THAT(database_->Read([](pqxx::read_transaction& work) {
    work.exec("INSERT INTO t VALUES (1)");
    return absl::OkStatus();
  }),
              HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(DatabaseTest, ARetriedTransactionStartsAgain) {
  int calls = 0;
  EXPECT_THAT(database_->Transaction([&](pqxx::work& work) -> absl::Status {
    work.exec_params("INSERT INTO t VALUES ($1)", ++calls);
    return calls < 3 ? absl::AbortedError("a deadlock") : absl::OkStatus();
  }),
              IsOk());
  EXPECT_EQ(Value("SELECT string_agg(id::text, ',') FROM t"), "3");
}

TEST_F(DatabaseTest, ATransactionThatAlwaysAbortsGivesUp) {
  int calls = 0;
  EXPECT_THAT(database_->Transaction([&](pqxx::work&) {
    ++calls;
    return absl::AbortedError("a deadlock");
  }),
              HasCode(absl::StatusCode::kAborted));
  EXPECT_EQ(calls, 5);
}

TEST_F(DatabaseTest, ALostConnectionFailsOneCallAndTheNextFindsAnother) {
  ASSERT_THAT(Insert(1), IsOk());
  int pid = 0;
  ASSERT_THAT(database_->Read([&](pqxx::read_transaction& work) {
    pid = work.exec1("SELECT pg_backend_pid()")[0].as<int>();
    return absl::OkStatus();
  }),
              IsOk());
  Sql(absl::StrCat("SELECT pg_terminate_backend(", pid, ", 5000)"));
  EXPECT_THAT(Insert(2), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(Insert(3), IsOk());
}

TEST_F(DatabaseTest, AConnectionLostInsideATransactionLeavesNothing) {
  EXPECT_THAT(database_->Transaction([&](pqxx::work& work) {
    work.exec("INSERT INTO t VALUES (1)");
    Sql(absl::StrCat("SELECT pg_terminate_backend(", work.exec1("SELECT pg_backend_pid()")[0].as<int>(), ", 5000)"));
    work.exec("INSERT INTO t VALUES (2)");  // It must not run on a silent new connection.
    return absl::OkStatus();
  }),
              HasCode(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Number("SELECT count(*) FROM t"), 0);
}

TEST_F(DatabaseTest, ABusyPoolIsUnavailableAfterItsWait) {
  options_.connections = 1;
  options_.wait = absl::Milliseconds(50);
  auto database = Database::Connect(options_);
  ASSERT_THAT(database, IsOk());
  EXPECT_THAT((*database)->Read([&](pqxx::read_transaction&) {
    return (*database)->Read([](pqxx::read_transaction&) { return absl::OkStatus(); });
  }),
              Fails(absl::StatusCode::kUnavailable, "stayed busy"));
}

TEST_F(DatabaseTest, AWaitingCallGetsTheConnectionThatIsReturned) {
  options_.connections = 1;
  auto database = Database::Connect(options_);
  ASSERT_THAT(database, IsOk());
  absl::Notification inside, go;
  std::thread first([&] {
    EXPECT_THAT((*database)->Read([&](pqxx::read_transaction&) {
      inside.Notify();
      go.WaitForNotification();
      return absl::OkStatus();
    }),
                IsOk());
  });
  inside.WaitForNotification();
  std::thread second(
      [&] { EXPECT_THAT((*database)->Read([](pqxx::read_transaction&) { return absl::OkStatus(); }), IsOk()); });
  go.Notify();
  first.join();
  second.join();
}

TEST_F(DatabaseTest, RefusesADatabaseThatIsNotDurable) {
  Database::Options options = options_;
  options.conninfo += " options='-c synchronous_commit=off'";
  EXPECT_THAT(Database::Connect(options), Fails(absl::StatusCode::kFailedPrecondition, "synchronous_commit is off"));
}

TEST_F(DatabaseTest, TellsAWrongAddressAtOnce) {
  EXPECT_THAT(Database::Connect({.conninfo = "host=/nowhere"}), HasCode(absl::StatusCode::kUnavailable));
}

struct CodeCase {
  const char* sqlstate;
  absl::StatusCode code;
};
class SqlStateTest : public ::testing::TestWithParam<CodeCase> {};
TEST_P(SqlStateTest, HasItsCode) {
  EXPECT_THAT(StatusFromSqlState(GetParam().sqlstate, "text"), Fails(GetParam().code, "text"));
}
INSTANTIATE_TEST_SUITE_P(
    All, SqlStateTest,
    ::testing::Values(
        CodeCase{"40001", absl::StatusCode::kAborted}, CodeCase{"40P01", absl::StatusCode::kAborted},
        CodeCase{"08006", absl::StatusCode::kUnavailable}, CodeCase{"57P01", absl::StatusCode::kUnavailable},
        CodeCase{"57P03", absl::StatusCode::kUnavailable}, CodeCase{"25006", absl::StatusCode::kUnavailable},
        CodeCase{"53300", absl::StatusCode::kUnavailable}, CodeCase{"53100", absl::StatusCode::kResourceExhausted},
        CodeCase{"53200", absl::StatusCode::kResourceExhausted}, CodeCase{"57014", absl::StatusCode::kDeadlineExceeded},
        CodeCase{"23505", absl::StatusCode::kAlreadyExists}, CodeCase{"23514", absl::StatusCode::kFailedPrecondition},
        CodeCase{"22003", absl::StatusCode::kInvalidArgument}, CodeCase{"42601", absl::StatusCode::kInternal}),
    [](const auto& info) { return info.param.sqlstate; });

TEST(PgArray, TextsComeBackAsTheyWere) {
  const std::vector<std::string> texts = {"", "plain", "a,b", "{\"}", "back\\slash", "NULL", " space "};
  const auto parsed = ParseTextArray(ArrayText(texts));
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(*parsed, texts);
}

TEST(PgArray, DoublesComeBackBitForBit) {
  const std::vector<double> values = {0.1, -1e-310, 1e308, 1.0 / 3, -INFINITY};
  const auto parsed = ParseDoubleArray(ArrayText(values));
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(*parsed, values);
}

TEST(PgArray, RefusesWhatIsNotAnArray) {
  for (const char* text : {"", "{", "1,2", "{1,x}"}) {
    EXPECT_THAT(ParseInt64Array(text), HasCode(absl::StatusCode::kDataLoss)) << text;
  }
  for (const char* text : {"", "{", "{\"a}", "{a,"}) {
    EXPECT_THAT(ParseTextArray(text), HasCode(absl::StatusCode::kDataLoss)) << text;
  }
}

}  // namespace
}  // namespace stepcurve
