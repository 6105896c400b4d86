// SPDX-License-Identifier: Apache-2.0
//
// The agent and a trainer that crashes, hangs or does not start.
#include <gmock/gmock.h>

#include "tests/worker/agent/agent_harness.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Agent::Options WithTrainer(int64_t slots = 1) {
  return {.devices = {{.slots = slots}}, .trainer = FAKE_TRAINER, .trainer_backoff = absl::Milliseconds(10)};
}

class AgentTrainerTest : public ::testing::Test {
 protected:
  void WaitForStream() {
    ASSERT_TRUE(server_.WaitUntil([&] { return !server_.messages().empty(); }));
  }
  void WaitForEnds(size_t count) {
    ASSERT_TRUE(server_.WaitUntil([&] { return server_.ends().size() >= count; }));
  }
  v1::End EndOf(int64_t trial) {
    for (const v1::End& end : server_.ends()) {
      if (end.trial() == trial) return end;
    }
    ADD_FAILURE() << "no end of trial " << trial;
    return {};
  }

  ScriptedServer server_;
};

TEST_F(AgentTrainerTest, WhatTheTrainerCanRunIsOffered) {
  AgentHarness worker(server_.address(), WithTrainer());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  const v1::Hello hello = server_.hellos()[0];
  EXPECT_EQ(hello.can_run().datasets_size(), 2);
  EXPECT_EQ(hello.can_run().datasets(1).name(), "fake");
  EXPECT_EQ(hello.can_run().datasets(1).fingerprint(), "f00d");
  EXPECT_THAT(hello.can_run().models(), ElementsAre("noisy_quadratic", "finish", "crash"));
  EXPECT_EQ(hello.slot_classes(0).description(), "a fake");
  EXPECT_THAT(hello.versions(), ElementsAre("torch 1.13.1", "OpenBLAS 0.3.21"));
}

TEST_F(AgentTrainerTest, TrialsAreTrainedThere) {
  AgentHarness worker(server_.address(), WithTrainer());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("finish"), {1, 2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_EQ(server_.steps(1).size(), 11U);
  EXPECT_TRUE(EndOf(1).has_complete());
  EXPECT_EQ(EndOf(2).last_step(), 10);
}

TEST_F(AgentTrainerTest, ACrashIsTheTrialsOwnAndTheTrainerComesBack) {
  AgentHarness worker(server_.address(), WithTrainer());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("crash"), {1}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  const v1::End end = EndOf(1);
  EXPECT_EQ(end.failure().kind(), v1::End::Failure::TRIAL);
  EXPECT_FALSE(end.failure().before_first_step());
  EXPECT_THAT(end.failure().message(), HasSubstr("killed by signal 9"));
  EXPECT_EQ(end.last_step(), 0);
  server_.Say(Assign(TrainerStudy("finish"), {2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_TRUE(EndOf(2).has_complete());
  EXPECT_EQ(server_.hellos().size(), 1U) << "the stream lived through it";
}

TEST_F(AgentTrainerTest, ACrashBeforeTheFirstStepSaysSo) {
  AgentHarness worker(server_.address(), WithTrainer());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("crash_at_once"), {1}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_TRUE(EndOf(1).failure().before_first_step());
}

TEST_F(AgentTrainerTest, WhereSeveralRanNoneIsBlamed) {
  AgentHarness worker(server_.address(), WithTrainer(2));
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("wait"), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  v1::StudyDefinition crash = TrainerStudy("crash");
  crash.set_study(3);
  server_.Say(Assign(crash, {2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_EQ(EndOf(1).failure().kind(), v1::End::Failure::WORKER);
  EXPECT_EQ(EndOf(2).failure().kind(), v1::End::Failure::WORKER);
}

TEST_F(AgentTrainerTest, AQuadraticLivesThroughACrash) {
  AgentHarness worker(server_.address(), WithTrainer(2));
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(300'000), {1}));
  server_.Say(Assign(TrainerStudy("crash"), {2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_TRUE(EndOf(1).has_complete());
  EXPECT_EQ(EndOf(2).failure().kind(), v1::End::Failure::TRIAL);
}

TEST_F(AgentTrainerTest, ATrialWithoutProgressIsKilled) {
  AgentHarness worker(server_.address(), WithTrainer(2));
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("wait"), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  v1::StudyDefinition hang = TrainerStudy("hang");
  hang.set_study(3);
  hang.mutable_no_progress_timeout()->set_nanos(100'000'000);
  server_.Say(Assign(hang, {2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_EQ(EndOf(2).failure().kind(), v1::End::Failure::TRIAL) << "the one that hung is to blame";
  EXPECT_EQ(EndOf(1).failure().kind(), v1::End::Failure::WORKER);
}

TEST_F(AgentTrainerTest, ATrainerThatDoesNotStartLeavesTheQuadratic) {
  Agent::Options options = WithTrainer();
  options.trainer_arguments = {"--broken"};
  AgentHarness worker(server_.address(), options);
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  EXPECT_EQ(server_.hellos()[0].can_run().datasets_size(), 1);
  server_.Say(Assign(QuadraticStudy(10), {1}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_TRUE(EndOf(1).has_complete());
}

TEST_F(AgentTrainerTest, ADrainStopsTheTrainersRuns) {
  AgentHarness worker(server_.address(), WithTrainer());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(TrainerStudy("wait"), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  worker.agent().Drain(/*finish=*/false);
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_EQ(EndOf(1).released().why(), v1::End::Released::DRAIN);
  server_.Say(Standing(1, v1::Standing::LOST, 0));
  EXPECT_TRUE(worker.Result().ok()) << worker.Result();
}

}  // namespace
}  // namespace stepcurve
