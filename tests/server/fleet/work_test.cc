// SPDX-License-Identifier: Apache-2.0
//
// The worker protocol where nothing goes wrong, over real gRPC and PostgreSQL.
#include <grpcpp/generic/generic_stub.h>

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/channel/dial.h"
#include "tests/server/fleet/server_fixture.h"

namespace stepcurve {
namespace {

using ::testing::SizeIs;

using WorkTest = ServerTest;

TEST_F(WorkTest, HelloIsWelcomedWithTheLimits) {
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  EXPECT_EQ(worker.welcome().protocol(), 1);
  EXPECT_EQ(worker.welcome().lease().seconds(), 3);
  EXPECT_EQ(worker.welcome().heartbeat_interval().seconds(), 1);
  EXPECT_EQ(worker.welcome().max_message_bytes(), 256 << 10);
  EXPECT_EQ(worker.welcome().max_points_per_report(), 1024);
  EXPECT_EQ(Value("SELECT worker_name FROM sessions"), "a");
}

TEST_F(WorkTest, DemandBringsAssignmentsEachAfterItsStudy) {
  Submit("s", 5);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(3));
  const auto assignments = worker.AwaitAssignments(3);
  ASSERT_THAT(assignments, SizeIs(3));
  EXPECT_TRUE(worker.studies_came_first());
  std::set<int64_t> numbers;
  for (const v1::Assignment& assignment : assignments) {
    numbers.insert(assignment.number());
    EXPECT_EQ(assignment.attempt(), 1);
    EXPECT_EQ(assignment.persisted_step(), -1);
    EXPECT_THAT(assignment.parameters(), SizeIs(1));
  }
  EXPECT_EQ(numbers, (std::set<int64_t>{1, 2, 3}));
  EXPECT_EQ(worker.study(assignments[0].study()).budget_steps(), 100);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'running'"), 3);
}

TEST_F(WorkTest, DemandIsATotalSoThatARepeatAsksForNothing) {
  Submit("s", 5);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(2) && worker.Demand(2) && worker.Demand(1));
  ASSERT_THAT(worker.AwaitAssignments(2), SizeIs(2));
  ASSERT_TRUE(worker.Demand(3));
  ASSERT_THAT(worker.AwaitAssignments(3), SizeIs(3));
  EXPECT_EQ(worker.assignments(), 3u);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'running'"), 3);
}

TEST_F(WorkTest, WorkThatIsSubmittedLaterReachesADemandThatWaits) {
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(1));
  Submit("s", 1);
  EXPECT_THAT(worker.AwaitAssignments(1), SizeIs(1));
}

TEST_F(WorkTest, AReportIsAckedOnceItIsStored) {
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(1));
  const auto assignments = worker.AwaitAssignments(1);
  ASSERT_THAT(assignments, SizeIs(1));
  ASSERT_TRUE(worker.Report(assignments[0], {0, 1, 5}));
  const auto standing = worker.AwaitPersisted(assignments[0], 5);
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->verdict(), v1::Standing::HELD);
  EXPECT_EQ(standing->state(), v1::RUNNING);
  EXPECT_EQ(Value("SELECT steps FROM chunks"), "{0,1,5}");
}

TEST_F(WorkTest, TrialsThatCompleteEndTheirSweep) {
  Submit("s", 3);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(3));
  const auto assignments = worker.AwaitAssignments(3);
  ASSERT_THAT(assignments, SizeIs(3));
  for (const v1::Assignment& assignment : assignments) {
    ASSERT_TRUE(worker.Report(assignment, {0, 50, 100}) && worker.Complete(assignment));
    const auto standing = worker.AwaitVerdict(assignment, v1::Standing::ENDED);
    ASSERT_TRUE(standing.has_value());
    EXPECT_EQ(standing->state(), v1::COMPLETE);
    EXPECT_EQ(standing->persisted_step(), 100);
  }
  EXPECT_TRUE(Comes("SELECT state FROM sweeps", "done"));
  EXPECT_EQ(Number("SELECT count(*) FROM records"), 3);
}

TEST_F(WorkTest, ADivergedTrialIsReplacedByTheNextPoint) {
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(2));
  const auto first = worker.AwaitAssignments(1);
  ASSERT_THAT(first, SizeIs(1));
  v1::WorkerMessage message;
  v1::End& end = *message.add_ends();
  end.set_trial(first[0].trial());
  end.set_attempt(first[0].attempt());
  end.set_last_step(-1);
  end.mutable_diverged()->set_step(7);
  ASSERT_TRUE(worker.Send(message));
  const auto standing = worker.AwaitVerdict(first[0], v1::Standing::ENDED);
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->state(), v1::INFEASIBLE);
  const auto both = worker.AwaitAssignments(2);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[1].number(), 2);
}

TEST_F(WorkTest, AReleasedTrialComesBackUncounted) {
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(1));
  const auto first = worker.AwaitAssignments(1);
  ASSERT_THAT(first, SizeIs(1));
  v1::WorkerMessage message;
  v1::End& end = *message.add_ends();
  end.set_trial(first[0].trial());
  end.set_attempt(first[0].attempt());
  end.set_last_step(-1);
  end.mutable_released()->set_why(v1::End::Released::DRAIN);
  ASSERT_TRUE(worker.Send(message));
  const auto standing = worker.AwaitVerdict(first[0], v1::Standing::ENDED);
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->state(), v1::QUEUED);
  ASSERT_TRUE(worker.Demand(2));
  const auto both = worker.AwaitAssignments(2);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[1].trial(), first[0].trial());
  EXPECT_EQ(both[1].attempt(), 2);
  EXPECT_EQ(Value("SELECT losses + crashes FROM trials"), "0");
}

TEST_F(WorkTest, ASessionWorksForItsSweepsOnly) {
  Submit("first", 1);
  const int64_t second = Submit("second", 1);
  v1::WorkerMessage hello = ScriptedWorker::HelloMessage("a");
  hello.mutable_hello()->add_sweeps("second");
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Send(hello));
  ASSERT_TRUE(worker.Demand(2));
  const auto assignments = worker.AwaitAssignments(1);
  ASSERT_THAT(assignments, SizeIs(1));
  EXPECT_EQ(worker.study(assignments[0].study()).sweep(), second);
  ScriptedWorker other(port());
  ASSERT_TRUE(other.Hello("b"));
  ASSERT_TRUE(other.Demand(1));
  EXPECT_THAT(other.AwaitAssignments(1), SizeIs(1));
  EXPECT_EQ(worker.assignments(), 1u);
}

TEST_F(WorkTest, ASessionEndsWithItsWorkersOrderlyLeaveIfItHoldsNothing) {
  Submit("s", 1);
  ScriptedWorker idle(port());
  ASSERT_TRUE(idle.Hello("idle"));
  ScriptedWorker busy(port());
  ASSERT_TRUE(busy.Hello("busy"));
  ASSERT_TRUE(busy.Demand(1));
  ASSERT_THAT(busy.AwaitAssignments(1), SizeIs(1));
  idle.Leave();
  busy.Leave();
  EXPECT_THAT(idle.AwaitEnd(), IsOk());
  EXPECT_THAT(busy.AwaitEnd(), IsOk());
  EXPECT_TRUE(Comes("SELECT end_reason FROM sessions WHERE worker_name = 'idle'", "the worker left"));
  // The busy one may come back within its lease.
  ScriptedWorker again(port());
  EXPECT_TRUE(again.Hello("busy"));
}

TEST_F(WorkTest, HealthSaysServing) {
  grpc::GenericStub stub(Dial({.server = absl::StrCat("localhost:", port())}));
  grpc::ClientContext context;
  const grpc::Slice empty;
  grpc::ByteBuffer request(&empty, 1);  // HealthCheckRequest{}: the whole server.
  grpc::ByteBuffer response;
  absl::Notification done;
  grpc::Status status;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response, [&](grpc::Status how) {
    status = std::move(how);
    done.Notify();
  });
  ASSERT_TRUE(done.WaitForNotificationWithTimeout(kGenerous));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice slice;
  ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
  EXPECT_EQ(std::string(slice.begin(), slice.end()), std::string("\x08\x01", 2));  // HealthCheckResponse{SERVING}.
}

TEST_F(WorkTest, CancelReachesTheWorkerAndWhatItStillSendsIsAnsweredEnded) {
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(1));
  const auto assignments = worker.AwaitAssignments(1);
  ASSERT_THAT(assignments, SizeIs(1));
  ASSERT_TRUE(worker.Report(assignments[0], {0, 10}));
  ASSERT_TRUE(worker.AwaitPersisted(assignments[0], 10).has_value());
  Cancel("s");
  const auto standing = worker.AwaitVerdict(assignments[0], v1::Standing::ENDED);
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->state(), v1::CANCELLED);
  EXPECT_EQ(standing->persisted_step(), 10);
  ASSERT_TRUE(Comes("SELECT state FROM trials", "cancelled"));
  int answers = 0;
  ASSERT_TRUE(worker.Report(assignments[0], {20}));
  EXPECT_TRUE(worker.AwaitStanding(assignments[0], [&](const v1::Standing& answer) {
    return answer.verdict() == v1::Standing::ENDED && ++answers == 2;
  }));
  EXPECT_EQ(Value("SELECT max(last_step) FROM chunks"), "10");
}

}  // namespace
}  // namespace stepcurve
