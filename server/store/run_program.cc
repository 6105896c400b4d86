// SPDX-License-Identifier: Apache-2.0
#include "server/store/run_program.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace stepcurve {
namespace {

// After the fork of a process with threads: async-signal-safe calls only.
[[noreturn]] void BecomeProgram(char* const* arguments, const SystemUser* user, int output) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  static char locale[] = "LC_ALL=C.UTF-8";
  char* const environment[] = {path, locale, nullptr};
  const int nothing = open("/dev/null", O_RDONLY);
  bool ready = dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
               dup2(output, STDERR_FILENO) >= 0 && chdir("/") == 0;
  close_range(STDERR_FILENO + 1, ~0u, 0);  // What we listen on must not outlive us in a daemon.
  if (user != nullptr) {
    ready = ready && setgroups(user->groups.size(), user->groups.data()) == 0 && setgid(user->gid) == 0 &&
            setuid(user->uid) == 0;
  }
  if (ready) {
    execve(arguments[0], arguments, environment);
  }
  _exit(127);
}

}  // namespace

absl::StatusOr<SystemUser> FindSystemUser(const std::string& name) {
  std::array<char, 16384> buffer;
  passwd entry;
  passwd* found = nullptr;
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return absl::NotFoundError(absl::StrCat("this system has no user ", name));
  }
  SystemUser user{.name = name, .uid = entry.pw_uid, .gid = entry.pw_gid};
  int count = 64;
  user.groups.resize(count);
  if (getgrouplist(name.c_str(), entry.pw_gid, user.groups.data(), &count) < 0) {
    count = 0;  // More groups than any system user has: none of them is needed.
  }
  user.groups.resize(count);
  return user;
}

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& arguments, const SystemUser* user) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot make a pipe: ", strerror(errno)));
  }
  const pid_t child = fork();
  if (child == 0) {
    BecomeProgram(argv.data(), user, ends[1]);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return absl::ResourceExhaustedError(absl::StrCat("cannot start ", arguments[0], ": ", strerror(errno)));
  }
  ProgramResult result;
  std::array<char, 4096> buffer;
  ssize_t count;
  while ((count = read(ends[0], buffer.data(), buffer.size())) > 0 || (count < 0 && errno == EINTR)) {
    result.output.append(buffer.data(), count > 0 ? count : 0);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace stepcurve
