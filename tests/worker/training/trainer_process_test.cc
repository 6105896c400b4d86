// SPDX-License-Identifier: Apache-2.0
//
// The real stepcurve-trainer, spoken to as the daemon does.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/run/frames.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Kind = RunEnd::Kind;

class TrainerProcessTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags, rlim_t data_bytes = RLIM_INFINITY) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    std::vector<char*> arguments = {const_cast<char*>(STEPCURVE_TRAINER)};
    for (const std::string& flag : flags) arguments.push_back(const_cast<char*>(flag.c_str()));
    arguments.push_back(nullptr);
    child_ = fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      if (ends[1] == 3) {
        fcntl(3, F_SETFD, 0);
      } else {
        dup2(ends[1], 3);
      }
      const rlimit limit = {data_bytes, data_bytes};
      setrlimit(RLIMIT_DATA, &limit);
      execv(STEPCURVE_TRAINER, arguments.data());
      _exit(127);
    }
    close(ends[1]);
    daemon_ = ends[0];
    const timeval patience = {.tv_sec = 60};
    setsockopt(daemon_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }

  void TearDown() override {
    if (daemon_ >= 0) close(daemon_);
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  Frame Read() {
    auto frame = ReadFrame(daemon_);
    if (!frame.ok()) {
      ADD_FAILURE() << frame.status();
      return EndedFrame{.slot = -1};
    }
    return *std::move(frame);
  }
  ReadyFrame ReadReady() {
    const Frame frame = Read();
    EXPECT_TRUE(std::holds_alternative<ReadyFrame>(frame));
    return std::holds_alternative<ReadyFrame>(frame) ? std::get<ReadyFrame>(frame) : ReadyFrame();
  }
  void Write(const Frame& frame) { ASSERT_TRUE(WriteFrame(daemon_, frame).ok()); }

  // Everything up to the next end of a trial.
  struct Outcome {
    std::map<int, std::vector<int64_t>> measured;  // Steps by slot.
    EndedFrame ended;
  };
  Outcome ReadUntilEnded() {
    Outcome outcome;
    while (true) {
      const Frame frame = Read();
      if (const auto* measured = std::get_if<MeasuredFrame>(&frame)) {
        EXPECT_EQ(measured->values.size(), 1u);
        outcome.measured[measured->slot].push_back(measured->step);
      } else if (const auto* ended = std::get_if<EndedFrame>(&frame)) {
        outcome.ended = *ended;
        return outcome;
      }
    }
  }

  // Hangs up and returns how the trainer exited.
  int HangUp() {
    close(std::exchange(daemon_, -1));
    int status = 0;
    waitpid(std::exchange(child_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  static TrialRun ShortRun() {
    TrialRun run;
    run.trial = 1;
    run.workload = {.dataset = "fashion_mnist", .model = "fc_8", .optimizer = "sgd"};
    run.batch_size = 16;
    run.budget_steps = 4;
    run.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 2};
    run.metrics = {"val/classification_error"};
    run.parameters = {{"learning_rate", 0.1}};
    return run;
  }
  static TrialRun EndlessRun() {
    TrialRun run = ShortRun();
    run.budget_steps = int64_t{1} << 40;
    run.grid = {.kind = EvaluationGrid::Kind::kAt};
    return run;
  }

  pid_t child_ = 0;
  int daemon_ = -1;
};

TEST_F(TrainerProcessTest, SaysWhatItHasThenTrainsWhatItIsTold) {
  Start({"--device=cpu", "--slots=2", "--threads=1"});
  const ReadyFrame ready = ReadReady();
  ASSERT_EQ(ready.datasets.size(), 1u);
  EXPECT_EQ(ready.datasets[0].name, "fashion_mnist");
  EXPECT_EQ(ready.datasets[0].train_examples, 55'000);
  EXPECT_EQ(ready.datasets[0].val_examples, 5'000);
  EXPECT_EQ(ready.datasets[0].test_examples, 10'000);
  EXPECT_EQ(ready.datasets[0].fingerprint.size(), 16u);
  EXPECT_THAT(ready.models, ElementsAre("fc", "simple_cnn"));
  EXPECT_THAT(ready.optimizers, ElementsAre("sgd", "momentum", "nesterov_momentum"));
  EXPECT_EQ(ready.device, "cpu");
  EXPECT_GT(ready.memory_bytes, int64_t{1} << 30);
  EXPECT_THAT(ready.versions, HasSubstr("torch "));

  for (const int slot : {1, 0, 1}) {
    Write(RunFrame{slot, ShortRun()});
    const Outcome outcome = ReadUntilEnded();
    EXPECT_EQ(outcome.ended.slot, slot);
    EXPECT_EQ(outcome.ended.end.kind, Kind::kComplete) << outcome.ended.end.message;
    EXPECT_EQ(outcome.ended.end.last_step, 4);
    EXPECT_THAT(outcome.measured.at(slot), ElementsAre(0, 2, 4));
  }
  EXPECT_EQ(HangUp(), 0);
}

TEST_F(TrainerProcessTest, StopEndsOneSlotsTrialAndNoOther) {
  Start({"--slots=2", "--threads=1"});
  ReadReady();
  Write(RunFrame{0, EndlessRun()});
  Write(RunFrame{1, EndlessRun()});
  Write(StopFrame{1});
  EXPECT_EQ(ReadUntilEnded().ended.slot, 1);
  Write(RunFrame{1, ShortRun()});
  const Outcome outcome = ReadUntilEnded();
  EXPECT_EQ(outcome.ended.slot, 1);
  EXPECT_EQ(outcome.ended.end.kind, Kind::kComplete);
  Write(StopFrame{0});
  const Outcome stopped = ReadUntilEnded();
  EXPECT_EQ(stopped.ended.slot, 0);
  EXPECT_EQ(stopped.ended.end.kind, Kind::kStopped);
}

TEST_F(TrainerProcessTest, TrialThatRunsOutOfMemoryEndsAlone) {
  Start({"--slots=2", "--threads=1"}, /*data_bytes=*/rlim_t{4} << 30);
  ReadReady();
  Write(RunFrame{0, EndlessRun()});
  TrialRun huge = ShortRun();
  huge.workload.model = "fc_65536_65536";  // 17 GB of weights.
  Write(RunFrame{1, huge});
  const Outcome outcome = ReadUntilEnded();
  EXPECT_EQ(outcome.ended.slot, 1);
  EXPECT_EQ(outcome.ended.end.kind, Kind::kWorkerError);
  EXPECT_TRUE(outcome.ended.end.before_first_step);
  EXPECT_THAT(outcome.ended.end.message, HasSubstr("memory"));
  Write(RunFrame{1, ShortRun()});
  EXPECT_EQ(ReadUntilEnded().ended.end.kind, Kind::kComplete);
}

TEST_F(TrainerProcessTest, TrialItCannotRunIsAWorkerErrorBeforeTheFirstStep) {
  Start({"--datasets=/nonexistent"});
  const ReadyFrame ready = ReadReady();
  EXPECT_THAT(ready.datasets, IsEmpty());
  EXPECT_THAT(ready.warnings, ::testing::Contains(HasSubstr("no data set is usable below /nonexistent")));
  Write(RunFrame{0, ShortRun()});
  const RunEnd end = ReadUntilEnded().ended.end;
  EXPECT_EQ(end.kind, Kind::kWorkerError);
  EXPECT_TRUE(end.before_first_step);
  EXPECT_THAT(end.message, HasSubstr("data set fashion_mnist is not usable below /nonexistent"));
}

TEST_F(TrainerProcessTest, SignalsAreTheDaemonsAndItsEndIsTheTrainers) {
  Start({"--threads=1"});
  ReadReady();
  Write(RunFrame{0, EndlessRun()});
  kill(child_, SIGTERM);
  kill(child_, SIGINT);
  Write(RunFrame{7, ShortRun()});  // No such slot: logged, not fatal.
  Write(StopFrame{0});
  EXPECT_EQ(ReadUntilEnded().ended.end.kind, Kind::kStopped);
  Write(RunFrame{0, EndlessRun()});
  EXPECT_EQ(HangUp(), 0);  // Within a trial.
}

TEST_F(TrainerProcessTest, ByHandItSaysWhoStartsIt) {
  FILE* output = popen(STEPCURVE_TRAINER " 3<&- 2>&1", "r");
  ASSERT_NE(output, nullptr);
  std::string text(1'000, '\0');
  text.resize(fread(text.data(), 1, text.size(), output));
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 2);
  EXPECT_THAT(text, HasSubstr("started by stepcurve-worker"));
}

TEST_F(TrainerProcessTest, BadFlagsAreRefused) {
  for (const std::string flag : {"--device=cuda:0", "--device=tpu", "--slots=0", "--threads=0"}) {
    Start({flag});
    EXPECT_EQ(HangUp(), 2) << flag;
  }
}

}  // namespace
}  // namespace stepcurve
