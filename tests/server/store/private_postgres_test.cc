// SPDX-License-Identifier: Apache-2.0
#include "server/store/private_postgres.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/store/database.h"
#include "server/store/migrate.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

namespace fs = std::filesystem;

class PrivatePostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/private_postgres_test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    ASSERT_EQ(chmod(path, 0755), 0);  // As root, the cluster's owner has to pass.
    data_dir_ = path;
  }
  void TearDown() override { fs::remove_all(data_dir_); }

  // One value from the cluster, "" on failure.
  static std::string Ask(const PrivatePostgres& postgres, const std::string& query) {
    std::string answer;
    auto database = Database::Connect({.conninfo = postgres.conninfo()});
    EXPECT_THAT(database, IsOk());
    if (database.ok()) {
      EXPECT_THAT((*database)->Transaction([&](pqxx::work& work) {
        const pqxx::result rows = work.exec(query);
        answer = rows.empty() ? "" : rows[0][0].c_str();
        return absl::OkStatus();
      }),
                  IsOk());
    }
    return answer;
  }
  pid_t PostmasterPid() const {
    pid_t pid = 0;
    std::ifstream(data_dir_ + "/postgres/postmaster.pid") >> pid;
    return pid;
  }
  // PostgreSQL removes its file as the last thing that it does.
  bool Runs() const { return fs::exists(data_dir_ + "/postgres/postmaster.pid"); }
  // Starts a cluster in a process that is then killed, as a server by kill -9.
  void StartAndDie() {
    const pid_t child = fork();
    if (child == 0) {
      auto postgres = PrivatePostgres::Start(data_dir_);
      raise(postgres.ok() ? SIGKILL : SIGTERM);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
  }

  std::string data_dir_;
};

TEST_F(PrivatePostgresTest, MakesAClusterAndKeepsWhatIsInItAcrossStarts) {
  {
    auto postgres = PrivatePostgres::Start(data_dir_);
    ASSERT_THAT(postgres, IsOk());
    auto database = Database::Connect({.conninfo = (*postgres)->conninfo()});
    ASSERT_THAT(database, IsOk());
    EXPECT_THAT(Migrate(**database), IsOk());
    EXPECT_EQ(Ask(**postgres, "SHOW listen_addresses"), "");
    EXPECT_EQ(Ask(**postgres, "SHOW jit"), "off");
    Ask(**postgres, "CREATE TABLE kept AS SELECT 42 AS value");
  }
  EXPECT_FALSE(Runs());
  auto postgres = PrivatePostgres::Start(data_dir_);
  ASSERT_THAT(postgres, IsOk());
  EXPECT_EQ(Ask(**postgres, "SELECT value FROM kept"), "42");
}

TEST_F(PrivatePostgresTest, AdoptsTheClusterOfAServerThatWasKilled) {
  StartAndDie();
  const pid_t pid = PostmasterPid();
  ASSERT_TRUE(Runs()) << "it died with its server";
  {
    auto postgres = PrivatePostgres::Start(data_dir_);
    ASSERT_THAT(postgres, IsOk());
    EXPECT_EQ(PostmasterPid(), pid);
    EXPECT_EQ(Ask(**postgres, "SELECT 1"), "1");
  }
  EXPECT_FALSE(Runs()) << "an adopted cluster was not stopped";
}

TEST_F(PrivatePostgresTest, RecoversAClusterThatWasKilled) {
  StartAndDie();
  const pid_t pid = PostmasterPid();
  kill(pid, SIGKILL);
  auto postgres = PrivatePostgres::Start(data_dir_);  // Its children end by themselves a moment later.
  ASSERT_THAT(postgres, IsOk());
  EXPECT_NE(PostmasterPid(), pid);
  EXPECT_EQ(Ask(**postgres, "SELECT 1"), "1");
}

TEST_F(PrivatePostgresTest, IsNotFooledByAPidThatIsAnotherProgramsNow) {
  ASSERT_THAT(PrivatePostgres::Start(data_dir_), IsOk());  // And stop.
  // PostgreSQL itself believes the file where that program belongs to its own user.
  const pid_t other = fork();
  if (other == 0) {
    if (geteuid() == 0 && setuid(FindSystemUser("postgres")->uid) != 0) {
      _exit(1);
    }
    pause();
    _exit(0);
  }
  std::ofstream(data_dir_ + "/postgres/postmaster.pid")
      << other << "\n"
      << data_dir_ << "/postgres\n1\n5432\n/tmp/nowhere\n\n  0 0\nready\n";
  auto postgres = PrivatePostgres::Start(data_dir_);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  ASSERT_THAT(postgres, IsOk());
  EXPECT_EQ(Ask(**postgres, "SELECT 1"), "1");
}

TEST_F(PrivatePostgresTest, WorksInADirectoryDeeperThanASocketsPath) {
  const std::string deep = absl::StrCat(data_dir_, "/", std::string(120, 'd'));
  auto postgres = PrivatePostgres::Start(deep);
  ASSERT_THAT(postgres, IsOk());
  EXPECT_EQ(Ask(**postgres, "SELECT 1"), "1");
}

TEST_F(PrivatePostgresTest, RefusesASecondServerOnTheSameDirectory) {
  auto postgres = PrivatePostgres::Start(data_dir_);
  ASSERT_THAT(postgres, IsOk());
  EXPECT_THAT(PrivatePostgres::Start(data_dir_),
              Fails(absl::StatusCode::kFailedPrecondition, "another stepcurve-server runs on"));
}

TEST_F(PrivatePostgresTest, RefusesAnotherProgramsFiles) {
  fs::create_directory(data_dir_ + "/postgres");
  std::ofstream(data_dir_ + "/postgres/notes.txt") << "mine";
  if (geteuid() == 0) {
    const auto owner = FindSystemUser("postgres");
    ASSERT_THAT(owner, IsOk());
    ASSERT_EQ(chown((data_dir_ + "/postgres").c_str(), owner->uid, owner->gid), 0);
  }
  EXPECT_THAT(PrivatePostgres::Start(data_dir_),
              Fails(absl::StatusCode::kFailedPrecondition, "not a PostgreSQL cluster"));
}

TEST_F(PrivatePostgresTest, AsRootRefusesAClusterOfAnotherUser) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root runs the cluster as somebody else";
  }
  fs::create_directory(data_dir_ + "/postgres");  // Root's, as it would be another user's.
  EXPECT_THAT(PrivatePostgres::Start(data_dir_), Fails(absl::StatusCode::kFailedPrecondition, "belongs to user 0"));
}

TEST_F(PrivatePostgresTest, AsRootSaysWhichDirectoryTheOwnerCannotEnter) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root runs the cluster as somebody else";
  }
  ASSERT_EQ(chmod(data_dir_.c_str(), 0700), 0);
  EXPECT_THAT(PrivatePostgres::Start(data_dir_ + "/below"),
              Fails(absl::StatusCode::kFailedPrecondition, absl::StrCat("cannot enter ", data_dir_, ";")));
}

TEST_F(PrivatePostgresTest, RefusesADirectoryThatCannotBeMade) {
  EXPECT_THAT(PrivatePostgres::Start("/proc/nowhere"), HasCode(absl::StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace stepcurve
