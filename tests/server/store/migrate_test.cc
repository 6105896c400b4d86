// SPDX-License-Identifier: Apache-2.0
#include "server/store/migrate.h"

#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

class MigrateTest : public PostgresTest {
 protected:
  bool migrated() const override { return false; }

  // pg_dump's text of the schema without the keys it draws at random.
  std::string Dump() {
    const std::string command = absl::StrCat("pg_dump --schema-only --schema=", options_.schema, " --dbname='",
                                             absl::StrReplaceAll(options_.conninfo, {{"'", "'\\''"}}),
                                             "' | grep -v -e '^.restrict' -e '^.unrestrict'");
    std::string text;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> buffer;
    while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
      text.append(buffer.data(), n);
    }
    EXPECT_EQ(pclose(pipe), 0) << command;
    return text;
  }
};

TEST_F(MigrateTest, UpDownUpLeavesTheSameSchema) {
  ASSERT_THAT(Migrate(*database_), IsOk());
  const std::string first = Dump();
  EXPECT_THAT(first, HasSubstr("CREATE TABLE"));
  while (Number("SELECT count(*) FROM schema_version") > 0) {
    ASSERT_THAT(MigrateDown(*database_), IsOk());
  }
  EXPECT_EQ(Value("SELECT count(*) FROM pg_class WHERE relnamespace = '" + options_.schema +
                  "'::regnamespace AND relname NOT LIKE 'schema_version%'"),
            "0");
  EXPECT_EQ(Value("SELECT count(*) FROM pg_type WHERE typnamespace = '" + options_.schema +
                  "'::regnamespace AND typtype = 'e'"),
            "0");
  ASSERT_THAT(Migrate(*database_), IsOk());
  EXPECT_EQ(Dump(), first);
}

TEST_F(MigrateTest, ServersThatRaceMigrateOnce) {
  std::vector<std::unique_ptr<Database>> databases;
  for (int i = 0; i < 4; ++i) {
    auto database = Database::Connect(options_);
    ASSERT_THAT(database, IsOk());
    databases.push_back(*std::move(database));
  }
  std::vector<absl::Status> results(databases.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < databases.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = Migrate(*databases[i]); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(results, ::testing::Each(IsOk()));
  EXPECT_EQ(Number("SELECT max(version) FROM schema_version"), LatestSchemaVersion());
}

TEST_F(MigrateTest, RefusesASchemaThatNeedsANewerServer) {
  ASSERT_THAT(Migrate(*database_), IsOk());
  Sql("INSERT INTO schema_version (version, min_server) VALUES (1000, 999)");
  EXPECT_THAT(Migrate(*database_), Fails(absl::StatusCode::kFailedPrecondition, "start a newer server"));
}

TEST_F(MigrateTest, AcceptsANewerSchemaThatAdmitsThisServer) {
  ASSERT_THAT(Migrate(*database_), IsOk());
  Sql("INSERT INTO schema_version (version, min_server) VALUES (1000, 1)");
  EXPECT_THAT(Migrate(*database_), IsOk());
}

}  // namespace
}  // namespace stepcurve
