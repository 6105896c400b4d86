// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/trainer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/support/clock.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

constexpr int kTrainerFd = 3;
constexpr absl::Duration kGoodRun = absl::Minutes(1);  // After it the back-off starts again from the first.

// In the child, between fork and exec: nothing that takes a lock or memory.
[[noreturn]] void Exec(const char* program, char* const* arguments, int fd, pid_t parent) {
  // The supervising thread is the parent, and lives as long as trainers are wanted.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // A terminal or Slurm signals every process of the job; the daemon alone decides what that means for its trainers.
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (fd == kTrainerFd) {
    fcntl(fd, F_SETFD, 0);
  } else {
    dup2(fd, kTrainerFd);
  }
  execv(program, arguments);
  _exit(127);
}

std::string DescribeExit(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("killed by signal ", WTERMSIG(status));
  return absl::StrCat("exited with ", WEXITSTATUS(status));
}

}  // namespace

TrainerProcess::TrainerProcess(const Options& options) : options_(options), supervisor_([this] { Supervise(); }) {}

TrainerProcess::~TrainerProcess() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  Kill();
  supervisor_.join();
}

void TrainerProcess::Run(int64_t incarnation, int slot, const TrialRun& run) {
  absl::MutexLock write_lock(&write_mu_);
  {
    absl::MutexLock lock(&mu_);
    if (incarnation != incarnation_) return;
  }
  Send(RunFrame{slot, run});
}

void TrainerProcess::Stop(int slot) {
  absl::MutexLock write_lock(&write_mu_);
  Send(StopFrame{slot});
}

void TrainerProcess::Send(const Frame& frame) {
  int fd = -1;
  {
    absl::MutexLock lock(&mu_);
    fd = fd_;
  }
  // That it has died is found, and dealt with, by whoever listens to it.
  if (fd >= 0) WriteFrame(fd, frame).IgnoreError();
}

void TrainerProcess::Kill() {
  absl::MutexLock lock(&mu_);
  if (pid_ > 0) kill(pid_, SIGKILL);
}

void TrainerProcess::Supervise() {
  const Clock& clock = *Clock::System();
  absl::Duration backoff = options_.first_backoff;
  while (true) {
    const absl::Time started = clock.Now();
    int fd = -1;
    ready_ = false;
    std::string why;
    const absl::StatusOr<pid_t> pid = Spawn(&fd);
    if (pid.ok()) {
      const absl::Status end = Listen(fd);
      Kill();  // What closed its end or spoke nonsense is of no use any more.
      int status = 0;
      while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
      }
      why = DescribeExit(status);
      if (absl::IsDataLoss(end)) why = absl::StrCat(end.message(), ", ", why);
    } else {
      why = std::string(pid.status().message());
    }
    {
      absl::MutexLock lock(&mu_);
      pid_ = -1;
      ++incarnation_;
    }
    {
      absl::MutexLock write_lock(&write_mu_);  // Nobody writes to what is closed here.
      absl::MutexLock lock(&mu_);
      fd_ = -1;
      if (fd >= 0) close(fd);
      if (closing_) return;
    }
    options_.events->TrainerDown(options_.slots.slot_class, why);
    if (ready_ && clock.Now() - started > kGoodRun) backoff = options_.first_backoff;
    spdlog::warn("{} {}; starting it again in {}", options_.program, why, absl::FormatDuration(backoff));
    absl::MutexLock lock(&mu_);
    if (mu_.AwaitWithTimeout(absl::Condition(&closing_), backoff)) return;
    backoff = std::min(2 * backoff, options_.max_backoff);
  }
}

absl::StatusOr<pid_t> TrainerProcess::Spawn(int* fd) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("needs a socket pair: ", std::strerror(errno)));
  }
  std::vector<char*> arguments = {const_cast<char*>(options_.program.c_str())};
  for (const std::string& argument : options_.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  absl::MutexLock lock(&mu_);
  if (closing_) {
    close(ends[0]);
    close(ends[1]);
    return absl::CancelledError("closing");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Exec(options_.program.c_str(), arguments.data(), ends[1], parent);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return absl::ResourceExhaustedError(absl::StrCat("cannot be started: ", std::strerror(errno)));
  }
  pid_ = pid;
  fd_ = *fd = ends[0];
  return pid;
}

absl::Status TrainerProcess::Listen(int fd) {
  while (true) {
    STEPCURVE_ASSIGN_OR_RETURN(const Frame frame, ReadFrame(fd));
    STEPCURVE_RETURN_IF_ERROR(Handle(frame));
  }
}

absl::Status TrainerProcess::Handle(const Frame& frame) {
  const auto slot_of = [this](int32_t slot) -> absl::StatusOr<SlotId> {
    if (slot < 0 || slot >= options_.slots.slot) {
      return absl::DataLossError(absl::StrCat("spoke of slot ", slot, "; it has ", options_.slots.slot));
    }
    return SlotId{options_.slots.slot_class, slot};
  };
  if (const auto* ready = std::get_if<ReadyFrame>(&frame)) {
    int64_t incarnation = 0;
    {
      absl::MutexLock lock(&mu_);
      incarnation = incarnation_;
    }
    ready_ = true;
    options_.events->TrainerReady(options_.slots.slot_class, incarnation, *ready);
  } else if (const auto* measured = std::get_if<MeasuredFrame>(&frame)) {
    STEPCURVE_ASSIGN_OR_RETURN(const SlotId slot, slot_of(measured->slot));
    options_.events->Measured(slot, measured->step, measured->values, measured->train_seconds, measured->eval_seconds);
  } else if (const auto* progress = std::get_if<ProgressFrame>(&frame)) {
    STEPCURVE_ASSIGN_OR_RETURN(const SlotId slot, slot_of(progress->slot));
    options_.events->Progressed(slot, progress->step);
  } else if (const auto* ended = std::get_if<EndedFrame>(&frame)) {
    STEPCURVE_ASSIGN_OR_RETURN(const SlotId slot, slot_of(ended->slot));
    options_.events->Ended(slot, ended->end);
  } else {
    return absl::DataLossError(absl::StrCat("sent a frame of type ", frame.index(), ", which only the daemon sends"));
  }
  return absl::OkStatus();
}

}  // namespace stepcurve
