// SPDX-License-Identifier: Apache-2.0
#include "server/store/pg_connection.h"

#include <cmath>
#include <limits>

#include "server/store/copy_writer.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PgConnectionTest : public PostgresTest {
 protected:
  bool migrated() const override { return false; }
  void SetUp() override {
    PostgresTest::SetUp();
    Sql("CREATE SCHEMA " + options_.schema);
    auto connection = PgConnection::Open(options_);
    ASSERT_THAT(connection, IsOk());
    connection_ = *std::move(connection);
  }
  PgResult Rows(const char* sql, const PgParams& params = {}) {
    auto result = connection_->Execute(sql, params);
    EXPECT_THAT(result, IsOk());
    return result.ok() ? *std::move(result) : PgResult(nullptr);
  }
  std::unique_ptr<PgConnection> connection_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_F(PgConnectionTest, ParametersComeBackAsTheyWere) {
  const absl::Time time = absl::FromUnixMicros(1764600000123456);
  const std::string bytes("a\0b\xff", 4);
  const PgResult rows =
      Rows("SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (extract(epoch from $11) * 1000000)::bigint, $12::bigint",
           PgParams()
               .Int64(-5'000'000'000)
               .Int32(-7)
               .Double(0.1)
               .Bool(true)
               .Text("naïve")
               .Bytes(bytes)
               .Int64s({1, -2})
               .Int32s({})
               .Doubles({0.1, -kInfinity})
               .Texts({"", "a,\"b\"\\"})
               .Time(time)
               .Null());
  ASSERT_EQ(rows.rows(), 1);
  EXPECT_EQ(rows.Int64(0, 0), -5'000'000'000);
  EXPECT_EQ(rows.Int32(0, 1), -7);
  EXPECT_EQ(rows.Double(0, 2), 0.1);
  EXPECT_TRUE(rows.Bool(0, 3));
  EXPECT_EQ(rows.Text(0, 4), "naïve");
  EXPECT_EQ(rows.Text(0, 5), bytes);
  EXPECT_THAT(rows.Int64s(0, 6), ElementsAre(1, -2));
  EXPECT_THAT(rows.Int32s(0, 7), IsEmpty());
  EXPECT_THAT(rows.Doubles(0, 8), ElementsAre(0.1, -kInfinity));
  EXPECT_THAT(rows.Texts(0, 9), ElementsAre("", "a,\"b\"\\"));
  EXPECT_EQ(rows.Int64(0, 10), absl::ToUnixMicros(time));
  EXPECT_EQ(rows.OptionalInt64(0, 11), std::nullopt);
}

TEST_F(PgConnectionTest, FailuresSayWhatPostgresSaysAndNoSql) {
  EXPECT_THAT(connection_->Execute("SELECT 1 / 0"), Fails(absl::StatusCode::kInvalidArgument, "division by zero"));
  EXPECT_THAT(connection_->Run("SELECT * FROM nowhere"), Fails(absl::StatusCode::kInternal, "nowhere"));
}

TEST_F(PgConnectionTest, ATransactionThatIsNotCommittedLeavesNothing) {
  ASSERT_THAT(connection_->Run("CREATE TABLE t (id bigint)"), IsOk());
  {
    auto transaction = PgTransaction::Begin(*connection_);
    ASSERT_THAT(transaction, IsOk());
    ASSERT_THAT(connection_->Run("INSERT INTO t VALUES (1)"), IsOk());
  }
  EXPECT_EQ(Number("SELECT count(*) FROM t"), 0);
}

TEST_F(PgConnectionTest, CommittingAFailedTransactionFails) {
  auto transaction = PgTransaction::Begin(*connection_);
  ASSERT_THAT(transaction, IsOk());
  EXPECT_THAT(connection_->Run("SELECT 1 / 0"), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(transaction->Commit(), HasCode(absl::StatusCode::kAborted));
}

TEST_F(PgConnectionTest, AKilledBackendIsUnavailableAndTheConnectionBroken) {
  const PgResult rows = Rows("SELECT pg_backend_pid()");
  ASSERT_EQ(rows.rows(), 1);
  Sql("SELECT pg_terminate_backend(" + std::to_string(rows.Int32(0, 0)) + ", 5000)");
  EXPECT_THAT(connection_->Execute("SELECT 1"), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(connection_->broken());
}

TEST_F(PgConnectionTest, ACommitThatTheBackendDoesNotLiveToAnswerIsUnknown) {
  auto transaction = PgTransaction::Begin(*connection_);
  ASSERT_THAT(transaction, IsOk());
  const PgResult rows = Rows("SELECT pg_backend_pid()");
  ASSERT_EQ(rows.rows(), 1);
  Sql("SELECT pg_terminate_backend(" + std::to_string(rows.Int32(0, 0)) + ", 5000)");
  EXPECT_THAT(transaction->Commit(), HasCode(absl::StatusCode::kUnknown));
}

TEST_F(PgConnectionTest, RefusesAnAddressItCannotReadAndASchemaThatIsNotPlain) {
  EXPECT_THAT(PgConnection::Open({.conninfo = "hots=/tmp"}), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PgConnection::Open({.conninfo = options_.conninfo, .schema = "a\"b"}),
              HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PgConnection::Open({.conninfo = "host=/nowhere"}), HasCode(absl::StatusCode::kUnavailable));
}

TEST_F(PgConnectionTest, CopyWritesEveryType) {
  ASSERT_THAT(connection_->Run("CREATE TYPE colour AS ENUM ('red', 'blue');"
                               "CREATE TABLE t (a bigint, b integer, c smallint, d float8, e text, f bytea, g boolean,"
                               " h colour, i timestamptz, j bigint[], k float8[], l text[], m jsonb, n integer[],"
                               " o text)"),
              IsOk());
  auto copy = CopyWriter::Begin(*connection_, "COPY t FROM STDIN (FORMAT binary)");
  ASSERT_THAT(copy, IsOk());
  copy->Row(15);
  copy->Int64(1LL << 40);
  copy->Int32(-2);
  copy->Int16(3);
  copy->Double(0.1);
  copy->Text("text");
  copy->Bytes(std::string("\0\1", 2));
  copy->Bool(true);
  copy->Text("blue");
  copy->Time(absl::FromUnixSeconds(1764600000));
  copy->Int64s({1, 2});
  copy->Doubles({std::nan(""), 2.5});
  copy->Texts({"x", ""});
  copy->Jsonb(R"({"a": 1})");
  copy->Int32s({});
  copy->Null();
  ASSERT_THAT(copy->Finish(), IsOk());
  EXPECT_THAT(Sql("SET timezone TO 'UTC'; SELECT * FROM t"),
              ElementsAre("1099511627776|-2|3|0.1|text|\\x0001|t|blue|2025-12-01 14:40:00+00|{1,2}|{NaN,2.5}|{x,\"\"}|"
                          "{\"a\": 1}|{}|"));
}

TEST_F(PgConnectionTest, CopySendsManyRowsInPieces) {
  ASSERT_THAT(connection_->Run("CREATE TABLE t (a bigint, b text)"), IsOk());
  auto copy = CopyWriter::Begin(*connection_, "COPY t FROM STDIN (FORMAT binary)");
  ASSERT_THAT(copy, IsOk());
  constexpr int64_t kRows = 50'000;
  for (int64_t i = 1; i <= kRows; ++i) {
    copy->Row(2);
    copy->Int64(i);
    copy->Text("twenty characters...");
  }
  ASSERT_THAT(copy->Finish(), IsOk());
  EXPECT_EQ(Value("SELECT count(*), sum(a) FROM t"), "50000|1250025000");
}

TEST_F(PgConnectionTest, CopyTellsAViolationAtItsEnd) {
  ASSERT_THAT(connection_->Run("CREATE TABLE t (a bigint PRIMARY KEY)"), IsOk());
  auto copy = CopyWriter::Begin(*connection_, "COPY t FROM STDIN (FORMAT binary)");
  ASSERT_THAT(copy, IsOk());
  for (int i = 0; i < 2; ++i) {
    copy->Row(1);
    copy->Int64(7);
  }
  EXPECT_THAT(copy->Finish(), HasCode(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(connection_->Execute("SELECT 1"), IsOk());
}

TEST_F(PgConnectionTest, AnAbandonedCopyFailsItsTransactionAndFreesTheConnection) {
  ASSERT_THAT(connection_->Run("CREATE TABLE t (a bigint)"), IsOk());
  {
    auto transaction = PgTransaction::Begin(*connection_);
    ASSERT_THAT(transaction, IsOk());
    {
      auto copy = CopyWriter::Begin(*connection_, "COPY t FROM STDIN (FORMAT binary)");
      ASSERT_THAT(copy, IsOk());
      copy->Row(1);
      copy->Int64(7);
    }
    EXPECT_THAT(transaction->Commit(), HasCode(absl::StatusCode::kAborted));
  }
  EXPECT_EQ(Number("SELECT count(*) FROM t"), 0);
}

}  // namespace
}  // namespace stepcurve
