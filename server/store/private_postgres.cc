// SPDX-License-Identifier: Apache-2.0
#include "server/store/private_postgres.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "proto/support/status_macros.h"
#include "server/store/postgres_binaries.h"
#include "spdlog/spdlog.h"

#include <libpq-fe.h>

namespace stepcurve {
namespace {

namespace fs = std::filesystem;

// With six more characters. Short, since the path of a Unix socket has at most 107 bytes and a data directory may be
// deep.
constexpr char kSocketDir[] = "/tmp/stepcurve-";

// For a cluster that recovers from a crash.
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr absl::Duration kLastBreath = absl::Seconds(20);

// What an operator may change afterwards. What makes a commit durable keeps PostgreSQL's defaults.
constexpr char kSettings[] = R"(
# Of stepcurve-server's private database.
shared_buffers = 256MB
max_wal_size = 4GB
jit = off
)";

// The first lines of a cluster's postmaster.pid.
struct PostmasterFile {
  pid_t pid = 0;
  std::string socket_dir;
};

std::optional<PostmasterFile> ReadPostmasterFile(const std::string& cluster_dir) {
  std::ifstream file(cluster_dir + "/postmaster.pid");
  std::vector<std::string> lines;
  for (std::string line; lines.size() < 5 && std::getline(file, line);) {
    lines.push_back(line);
  }
  PostmasterFile postmaster;
  if (lines.empty() || !absl::SimpleAtoi(lines[0], &postmaster.pid)) {
    return std::nullopt;
  }
  if (lines.size() == 5) {
    postmaster.socket_dir = std::string(absl::StripAsciiWhitespace(lines[4]));
  }
  return postmaster;
}

// Every process of PostgreSQL works in its cluster's directory. A pid alone may long be another program's.
bool WorksIn(const std::string& pid, const std::string& folder) {
  std::error_code ignored;
  const fs::path cwd = fs::read_symlink(absl::StrCat("/proc/", pid, "/cwd"), ignored);
  return !ignored && cwd == folder;
}

bool AnyProcessIn(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (absl::ascii_isdigit(name[0]) && WorksIn(name, folder)) {
      return true;
    }
  }
  return false;
}

std::string LastLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  std::string last;
  for (size_t i = lines.size() < 5 ? 0 : lines.size() - 5; i < lines.size(); ++i) {
    absl::StrAppend(&last, "\n  ", lines[i]);
  }
  return last;
}

// Removes a directory that Launch has made, with what a killed PostgreSQL leaves in it.
void RemoveSocketDir(const std::string& path) {
  if (absl::StartsWith(path, kSocketDir) && path.find('/', sizeof(kSocketDir) - 1) == std::string::npos) {
    unlink((path + "/.s.PGSQL.5432").c_str());
    unlink((path + "/.s.PGSQL.5432.lock").c_str());
    rmdir(path.c_str());
  }
}

absl::Status MakeFolder(const std::string& path, const SystemUser* owner) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) {
    fs::permissions(path, fs::perms::owner_all, error);
  }
  if (error || (owner != nullptr && chown(path.c_str(), owner->uid, owner->gid) != 0)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the directory ", path, ": ", error ? error.message() : strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivatePostgres>> PrivatePostgres::Start(const std::string& data_dir) {
  std::unique_ptr<PrivatePostgres> postgres(new PrivatePostgres);
  std::error_code error;
  fs::create_directories(data_dir, error);
  postgres->data_dir_ = error ? "" : fs::canonical(data_dir, error).string();
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot make the data directory ", data_dir, ": ",
                                                      error.message(), "; choose another --data_dir"));
  }
  postgres->cluster_dir_ = postgres->data_dir_ + "/postgres";
  STEPCURVE_RETURN_IF_ERROR(postgres->LockDataDir());
  if (geteuid() == 0) {
    auto owner = FindSystemUser("postgres");
    if (!owner.ok()) {
      return absl::FailedPreconditionError(
          "PostgreSQL does not run as root, and this system has no user postgres to run it; install Debian's "
          "postgresql, start stepcurve-server as another user, or name a running database by --database");
    }
    postgres->owner_ = *std::move(owner);
    STEPCURVE_RETURN_IF_ERROR(postgres->CheckOwnerCanEnter());
  }
  STEPCURVE_RETURN_IF_ERROR(postgres->CheckClusterIsOwners());
  std::string major;
  std::ifstream(postgres->cluster_dir_ + "/PG_VERSION") >> major;
  STEPCURVE_ASSIGN_OR_RETURN(postgres->binaries_, FindPostgresBinaries(major));
  if (major.empty()) {
    STEPCURVE_RETURN_IF_ERROR(postgres->MakeCluster());
  }
  const std::optional<PostmasterFile> running = ReadPostmasterFile(postgres->cluster_dir_);
  if (running.has_value() && WorksIn(absl::StrCat(running->pid), postgres->cluster_dir_)) {
    STEPCURVE_RETURN_IF_ERROR(postgres->Adopt());
  } else {
    STEPCURVE_RETURN_IF_ERROR(postgres->Launch());
  }
  return postgres;
}

PrivatePostgres::~PrivatePostgres() {
  if (runs_) {
    const auto stopped =
        RunProgram({binaries_ + "/pg_ctl", "stop", "-D", cluster_dir_, "-m", "fast", "-w", "-t", "60"}, owner());
    if (!stopped.ok() || stopped->exit_code != 0) {
      spdlog::error("the private PostgreSQL in {} did not stop: {}", cluster_dir_,
                    stopped.ok() ? stopped->output : std::string(stopped.status().message()));
    }
  }
  RemoveSocketDir(socket_dir_);
  if (lock_ >= 0) {
    close(lock_);
  }
}

absl::Status PrivatePostgres::LockDataDir() {
  const std::string path = data_dir_ + "/server.lock";
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", path, ": ", strerror(errno), "; choose another --data_dir"));
  }
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("another stepcurve-server runs on ", data_dir_,
                     "; choose another --data_dir, or give both one database by --database"));
  }
  return absl::OkStatus();
}

absl::Status PrivatePostgres::CheckOwnerCanEnter() const {
  fs::path folder = "/";
  for (const fs::path& part : fs::path(data_dir_).relative_path()) {
    folder /= part;
    STEPCURVE_ASSIGN_OR_RETURN(const ProgramResult test, RunProgram({"/usr/bin/test", "-x", folder.string()}, owner()));
    if (test.exit_code != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("user ", owner_->name, ", who runs the private PostgreSQL, cannot enter ", folder.string(),
                       "; choose another --data_dir, as /var/lib/stepcurve, or run chmod o+x ", folder.string()));
    }
  }
  return absl::OkStatus();
}

absl::Status PrivatePostgres::CheckClusterIsOwners() const {
  struct stat cluster;
  const uid_t owner = owner_.has_value() ? owner_->uid : geteuid();
  if (stat(cluster_dir_.c_str(), &cluster) == 0 && cluster.st_uid != owner) {
    return absl::FailedPreconditionError(
        absl::StrCat(cluster_dir_, " belongs to user ", cluster.st_uid, ", but its PostgreSQL would run as user ",
                     owner, "; start stepcurve-server as whoever made it, or choose another --data_dir"));
  }
  return absl::OkStatus();
}

absl::Status PrivatePostgres::MakeCluster() const {
  std::error_code error;
  if (fs::exists(cluster_dir_, error) && !fs::is_empty(cluster_dir_, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        cluster_dir_, " holds files that are not a PostgreSQL cluster; move them away or choose another --data_dir"));
  }
  // Made aside and renamed when whole, so that a killed initdb leaves nothing that looks like a cluster.
  const std::string fresh = cluster_dir_ + ".new";
  fs::remove_all(fresh, error);
  STEPCURVE_RETURN_IF_ERROR(MakeFolder(fresh, owner()));
  STEPCURVE_ASSIGN_OR_RETURN(
      const ProgramResult made,
      RunProgram({binaries_ + "/initdb", "-D", fresh, "-U", "stepcurve", "-E", "UTF8", "--locale=C.UTF-8",
                  "--auth-local=trust", "--auth-host=reject", "--no-instructions"},
                 owner()));
  if (made.exit_code != 0) {
    return absl::FailedPreconditionError(absl::StrCat("initdb failed in ", fresh, ": ", made.output));
  }
  std::ofstream(fresh + "/postgresql.conf", std::ios::app) << kSettings;
  fs::rename(fresh, cluster_dir_, error);
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("cannot make ", cluster_dir_, ": ", error.message()));
  }
  spdlog::info("made a private PostgreSQL in {}", cluster_dir_);
  return absl::OkStatus();
}

absl::Status PrivatePostgres::Adopt() {
  // It may still be starting, or recovering from a crash: then its file says no socket yet, or nothing answers there.
  const absl::Time deadline = absl::Now() + kPatience;
  while (true) {
    const std::optional<PostmasterFile> running = ReadPostmasterFile(cluster_dir_);
    if (running.has_value() && !running->socket_dir.empty()) {
      SetSocketDir(running->socket_dir);
      if (PQping(conninfo_.c_str()) == PQPING_OK) {
        break;
      }
    }
    if (absl::Now() > deadline) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the PostgreSQL that runs in ", cluster_dir_,
          " does not answer; stop it and start again. Its log ends:", LastLines(cluster_dir_ + "/server.log")));
    }
    absl::SleepFor(absl::Milliseconds(50));
  }
  runs_ = true;
  spdlog::info("adopted the private PostgreSQL that runs in {}", cluster_dir_);
  return absl::OkStatus();
}

void PrivatePostgres::SetSocketDir(const std::string& socket_dir) {
  socket_dir_ = socket_dir;
  conninfo_ = absl::StrCat("host=", socket_dir, " port=5432 user=stepcurve dbname=postgres");
}

absl::Status PrivatePostgres::Launch() {
  // The last processes of one that has just stopped, or died, end a moment later.
  const absl::Time deadline = absl::Now() + kLastBreath;
  while (AnyProcessIn(cluster_dir_)) {
    if (absl::Now() > deadline) {
      return absl::FailedPreconditionError(absl::StrCat("processes of a PostgreSQL that has died still work in ",
                                                        cluster_dir_, "; start again when they have ended"));
    }
    absl::SleepFor(absl::Milliseconds(20));
  }
  // No process is left, so the file is stale; PostgreSQL itself would believe it if its pid is another program's now.
  if (const auto stale = ReadPostmasterFile(cluster_dir_); stale.has_value()) {
    RemoveSocketDir(stale->socket_dir);
    unlink((cluster_dir_ + "/postmaster.pid").c_str());
  }
  std::string socket_dir = absl::StrCat(kSocketDir, "XXXXXX");
  if (mkdtemp(socket_dir.data()) == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("cannot make a directory in /tmp: ", strerror(errno)));
  }
  SetSocketDir(socket_dir);
  STEPCURVE_RETURN_IF_ERROR(MakeFolder(socket_dir_, owner()));
  STEPCURVE_ASSIGN_OR_RETURN(
      const ProgramResult started,
      RunProgram({binaries_ + "/pg_ctl", "start", "-D", cluster_dir_, "-l", cluster_dir_ + "/server.log", "-w", "-t",
                  "120", "-o", absl::StrCat("-p 5432 -k ", socket_dir_, " -c listen_addresses=''")},
                 owner()));
  if (started.exit_code != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the private PostgreSQL in ", cluster_dir_,
                     " did not start; its log ends:", LastLines(cluster_dir_ + "/server.log")));
  }
  runs_ = true;
  return absl::OkStatus();
}

}  // namespace stepcurve
