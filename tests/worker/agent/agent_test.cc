// SPDX-License-Identifier: Apache-2.0
//
// The agent and its uplink against a scripted server: quadratics.
#include <numeric>

#include <gmock/gmock.h>

#include "tests/worker/agent/agent_harness.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kLong = 1'000'000'000;  // Steps that no test waits for.

std::vector<int64_t> From(int64_t first, int64_t last) {
  std::vector<int64_t> steps(static_cast<size_t>(last - first + 1));
  std::iota(steps.begin(), steps.end(), first);
  return steps;
}

class AgentTest : public ::testing::Test {
 protected:
  // Waits for the first demand on a stream that follows `hellos` earlier ones.
  void WaitForStream(size_t hellos = 0) {
    ASSERT_TRUE(server_.WaitUntil([&] { return server_.hellos().size() > hellos && !server_.messages().empty(); }));
  }
  void WaitForEnds(size_t count) {
    ASSERT_TRUE(server_.WaitUntil([&] { return server_.ends().size() >= count; }));
  }
  // Heartbeats of this stream that list one running trial.
  int Heartbeats() {
    int count = 0;
    for (const v1::WorkerMessage& message : server_.messages()) {
      count += message.has_heartbeat() && message.heartbeat().running_size() == 1;
    }
    return count;
  }

  ScriptedServer server_;
};

TEST_F(AgentTest, HelloOffersTheQuadraticAndItsSlots) {
  AgentHarness worker(server_.address(), {.sweeps = {"mine"}, .devices = {{.slots = 3, .threads = 2}}});
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  const v1::Hello hello = server_.hellos()[0];
  EXPECT_EQ(hello.protocol(), 1);
  EXPECT_EQ(hello.session().size(), 32U);
  EXPECT_EQ(hello.worker_name(), "test");
  ASSERT_EQ(hello.slot_classes_size(), 1);
  EXPECT_EQ(hello.slot_classes(0).device(), "cpu");
  EXPECT_EQ(hello.slot_classes(0).slots(), 3);
  EXPECT_EQ(hello.slot_classes(0).threads(), 2);
  ASSERT_EQ(hello.can_run().datasets_size(), 1);
  EXPECT_EQ(hello.can_run().datasets(0).name(), "quadratic");
  EXPECT_THAT(hello.can_run().models(), ElementsAre("noisy_quadratic"));
  EXPECT_THAT(hello.can_run().optimizers(), ElementsAre("sgd", "momentum", "nesterov_momentum"));
  EXPECT_THAT(hello.sweeps(), ElementsAre("mine"));
  EXPECT_THAT(hello.held(), IsEmpty());
  EXPECT_TRUE(server_.WaitUntil([&] { return server_.wanted() == 3; }));
}

TEST_F(AgentTest, AssignmentsAreTrainedAndReportedInFull) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(5000), {1, 2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  for (const int64_t trial : {1, 2}) {
    EXPECT_EQ(server_.steps(trial), From(0, 5000));
  }
  for (const v1::End& end : server_.ends()) {
    EXPECT_TRUE(end.has_complete());
    EXPECT_EQ(end.last_step(), 5000);
  }
  size_t reports = 0;
  for (const v1::WorkerMessage& message : server_.messages()) {
    reports += static_cast<size_t>(message.reports_size());
    EXPECT_LE(message.ByteSizeLong(), size_t{256 << 10});
    for (const v1::Report& report : message.reports()) {
      EXPECT_LE(report.step_deltas_size(), 1023);
      EXPECT_EQ(report.values_size(), 2 * (report.step_deltas_size() + 1));
    }
  }
  EXPECT_LE(reports, 20U) << "a fast trial reports hundreds of points at once";
  EXPECT_EQ(worker.agent().unsettled(), 2U) << "kept until it is durable";
  server_.Say(Standing(1, v1::Standing::ENDED, 5000));
  server_.Say(Standing(2, v1::Standing::ENDED, 5000));
  EXPECT_TRUE(server_.WaitUntil([&] { return worker.agent().unsettled() == 0; }));
}

TEST_F(AgentTest, ABrokenStreamIsFollowedByOneThatSendsWhatIsNotPersisted) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(1000), {1}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  server_.Say(Standing(1, v1::Standing::HELD, 699));
  server_.BreakStream();
  ASSERT_NO_FATAL_FAILURE(WaitForStream(1));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  const std::vector<v1::Hello> hellos = server_.hellos();
  EXPECT_EQ(hellos[0].session(), hellos[1].session());
  ASSERT_EQ(hellos[1].held_size(), 1);
  EXPECT_EQ(hellos[1].held(0).trial(), 1);
  EXPECT_TRUE(hellos[1].held(0).end_spooled());
  const int64_t first = hellos[1].held(0).first_spooled_step();
  EXPECT_THAT(first, ::testing::AnyOf(0, 700)) << "700 unless the break overtook the standing";
  EXPECT_EQ(server_.steps(1), From(first, 1000));
}

TEST_F(AgentTest, WhatIsPersistedIsTrimmedBeforeItIsSentAgain) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(1000), {1}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  server_.Say(Standing(1, v1::Standing::HELD, 699));
  server_.Say(Assign(QuadraticStudy(10), {2}));  // Its end shows that the standing has been read.
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  server_.BreakStream();
  ASSERT_NO_FATAL_FAILURE(WaitForStream(1));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_EQ(server_.steps(1), From(700, 1000));
  EXPECT_EQ(server_.steps(2), From(0, 10));
}

TEST_F(AgentTest, AServerThatComesBackFindsItsWorker) {
  auto first = std::make_unique<ScriptedServer>();
  const int port = first->port();
  AgentHarness worker(first->address());
  ASSERT_TRUE(first->WaitUntil([&] { return first->wanted() == 1; }));
  first->Say(Assign(QuadraticStudy(kLong), {1}));
  ASSERT_TRUE(first->WaitUntil([&] { return !first->steps(1).empty(); }));
  first.reset();
  ScriptedServer second(port);
  ASSERT_TRUE(second.WaitUntil([&] { return !second.steps(1).empty(); }));
  EXPECT_EQ(second.steps(1)[0], 0) << "trained on, and nothing was acknowledged";
  ASSERT_EQ(second.hellos()[0].held_size(), 1);
  EXPECT_FALSE(second.hellos()[0].held(0).end_spooled());
}

TEST_F(AgentTest, AnEndedSessionDropsEverythingAndTakesANewName) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  v1::ServerMessage message;
  message.mutable_session_ended()->set_reason("lease ran out");
  server_.Say(message);
  ASSERT_NO_FATAL_FAILURE(WaitForStream(1));
  const std::vector<v1::Hello> hellos = server_.hellos();
  EXPECT_NE(hellos[0].session(), hellos[1].session());
  EXPECT_THAT(hellos[1].held(), IsEmpty());
  EXPECT_TRUE(server_.WaitUntil([&] { return server_.wanted() == 1; })) << "its slot is free again";
  EXPECT_THAT(server_.steps(1), IsEmpty());
}

TEST_F(AgentTest, ALostAttemptIsStoppedAndItsSlotServesAnother) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  server_.Say(Standing(1, v1::Standing::LOST, -1));
  server_.Say(Assign(QuadraticStudy(10), {2}));
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_EQ(server_.ends()[0].trial(), 2);
  EXPECT_EQ(worker.agent().unsettled(), 1U);
}

TEST_F(AgentTest, HeartbeatsComeInTimeWhileTheSlotsAreBusy) {
  server_.SetHeartbeat(absl::Milliseconds(100));
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1}));
  EXPECT_TRUE(server_.WaitUntil([&] { return Heartbeats() >= 5; }));
}

TEST_F(AgentTest, RunsPauseWhileTooMuchIsNotPersisted) {
  server_.SetHeartbeat(absl::Milliseconds(100));
  AgentHarness worker(server_.address(), {.buffer_bytes = 1 << 20});
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1}));
  // A mebibyte holds about 26,000 points of two metrics, which take a tenth of a second.
  ASSERT_TRUE(server_.WaitUntil([&] { return server_.steps(1).size() > 20'000; }));
  ASSERT_TRUE(server_.WaitUntil([&] { return Heartbeats() >= 8; }));
  const std::vector<int64_t> steps = server_.steps(1);
  EXPECT_LT(steps.size(), 40'000U);
  server_.Say(Standing(1, v1::Standing::HELD, steps.back()));
  EXPECT_TRUE(server_.WaitUntil([&] { return server_.steps(1).size() > steps.size() + 20'000; })) << "it goes on";
}

TEST_F(AgentTest, ADrainReleasesWhatRunsAndWhatWaits) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1, 2}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  const int64_t wanted = server_.wanted();
  worker.agent().Drain(/*finish=*/false);
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(2));
  EXPECT_EQ(server_.wanted(), wanted) << "asks for nothing in their place";
  const std::vector<int64_t> steps = server_.steps(1);
  for (const v1::End& end : server_.ends()) {
    EXPECT_EQ(end.released().why(), v1::End::Released::DRAIN);
    EXPECT_EQ(end.last_step(), end.trial() == 1 ? steps.back() : -1);
    server_.Say(Standing(end.trial(), v1::Standing::LOST, end.last_step()));
  }
  EXPECT_TRUE(worker.Result().ok()) << worker.Result();
}

TEST_F(AgentTest, ADrainByTheServerLetsTrialsFinish) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(300'000), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  v1::ServerMessage drain;
  drain.mutable_drain()->set_finish(true);
  server_.Say(drain);
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_TRUE(server_.ends()[0].has_complete());
  server_.Say(Standing(1, v1::Standing::ENDED, 300'000));
  EXPECT_TRUE(worker.Result().ok()) << worker.Result();
}

TEST_F(AgentTest, AnIdleWorkerLeavesWhenToldTo) {
  AgentHarness worker(server_.address(), {.exit_when_idle = absl::Milliseconds(300)});
  EXPECT_TRUE(worker.Result().ok()) << worker.Result();
  EXPECT_EQ(server_.hellos().size(), 1U);
}

TEST_F(AgentTest, AnAssignmentOfAnUnknownStudyIsTheWorkersFailure) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  v1::ServerMessage message = Assign(QuadraticStudy(10), {1});
  message.clear_studies();
  server_.Say(message);
  ASSERT_NO_FATAL_FAILURE(WaitForEnds(1));
  EXPECT_EQ(server_.ends()[0].failure().kind(), v1::End::Failure::WORKER);
}

TEST_F(AgentTest, AServerThatRefusesWhatWeSendGetsANewSession) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  server_.Say(Assign(QuadraticStudy(kLong), {1}));
  ASSERT_TRUE(server_.WaitUntil([&] { return !server_.steps(1).empty(); }));
  server_.EndStream(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "trial 1: what cannot be"));
  ASSERT_NO_FATAL_FAILURE(WaitForStream(1));
  EXPECT_NE(server_.hellos()[0].session(), server_.hellos()[1].session());
  EXPECT_THAT(server_.hellos()[1].held(), IsEmpty());
}

TEST_F(AgentTest, ReconnectIsFollowedByAnotherStreamOfTheSameSession) {
  AgentHarness worker(server_.address());
  ASSERT_NO_FATAL_FAILURE(WaitForStream());
  v1::ServerMessage message;
  message.mutable_reconnect()->mutable_after()->set_nanos(1'000'000);
  server_.Say(message);
  ASSERT_NO_FATAL_FAILURE(WaitForStream(1));
  EXPECT_EQ(server_.hellos()[0].session(), server_.hellos()[1].session());
}

TEST(AgentWithoutServerTest, ItGivesUpOnlyWhenToldTo) {
  Agent agent({});
  Uplink uplink({.server = "127.0.0.1:1", .agent = &agent, .connect_timeout = absl::Milliseconds(100)});
  const absl::Status status = uplink.Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("no stepcurve-server answers at 127.0.0.1:1"));
}

}  // namespace
}  // namespace stepcurve
