// SPDX-License-Identifier: Apache-2.0
//
// The worker protocol where something goes wrong: lost workers, moved streams, servers that go, databases that wait.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/fleet/server_fixture.h"

#include <pqxx/pqxx>

namespace stepcurve {
namespace {

using ::testing::SizeIs;

using TroubleTest = ServerTest;

TEST_F(TroubleTest, ASilentWorkerLosesItsSessionAndItsTrialGoesToAnother) {
  Submit("s", 1);
  ScriptedWorker silent(port());
  ASSERT_TRUE(silent.Hello("silent"));
  ASSERT_TRUE(silent.Demand(1));
  const auto first = silent.AwaitAssignments(1);
  ASSERT_THAT(first, SizeIs(1));
  ASSERT_TRUE(silent.Report(first[0], {0}));
  ASSERT_TRUE(silent.AwaitPersisted(first[0], 0).has_value());

  ScriptedWorker other(port());
  ASSERT_TRUE(other.Hello("other"));
  ASSERT_TRUE(other.Demand(1));
  // The silent one says nothing; the other lives by its heartbeats.
  std::atomic<bool> over = false;
  std::thread heart([&] {
    while (!over) {
      other.Heartbeat();
      absl::SleepFor(absl::Milliseconds(300));
    }
  });
  EXPECT_TRUE(silent.AwaitMessage([](const v1::ServerMessage& message) { return message.has_session_ended(); }));
  EXPECT_THAT(silent.AwaitEnd(), IsOk());
  const auto second = other.AwaitAssignments(1);
  over = true;
  heart.join();
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].trial(), first[0].trial());
  EXPECT_EQ(second[0].attempt(), 2);
  EXPECT_EQ(Value("SELECT losses FROM trials"), "1");
  EXPECT_EQ(Value("SELECT count(*) FROM sessions WHERE ended_at IS NULL"), "1");

  // The lost one comes back under a new id with what it held: that is no longer its own, and cannot be written.
  ScriptedWorker again(port());
  ASSERT_TRUE(again.Hello("again", first));
  EXPECT_TRUE(again.AwaitVerdict(first[0], v1::Standing::LOST).has_value());
  v1::WorkerMessage late;
  v1::End& end = *late.add_ends();
  end.set_trial(first[0].trial());
  end.set_attempt(first[0].attempt());
  end.set_last_step(100);
  end.mutable_complete();
  ASSERT_TRUE(again.Send(late));
  int lost = 0;
  EXPECT_TRUE(again.AwaitStanding(
      first[0], [&](const v1::Standing& standing) { return standing.verdict() == v1::Standing::LOST && ++lost == 2; }));
  EXPECT_EQ(Value("SELECT state || attempt::text FROM trials"), "running2");
}

TEST_F(TroubleTest, ASessionThatHasEndedIsToldSoAndNotRevived) {
  {
    ScriptedWorker worker(port());
    ASSERT_TRUE(worker.Hello("a"));
  }
  Sql("UPDATE sessions SET ended_at = now(), end_reason = 'test'");
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Send(ScriptedWorker::HelloMessage("a")));
  EXPECT_TRUE(worker.AwaitMessage([](const v1::ServerMessage& message) { return message.has_session_ended(); }));
  EXPECT_THAT(worker.AwaitEnd(), IsOk());
}

TEST_F(TroubleTest, ANewerStreamTakesTheSessionOverWithWhatItLists) {
  Submit("s", 2);
  ScriptedWorker before(port());
  ASSERT_TRUE(before.Hello("a"));
  ASSERT_TRUE(before.Demand(2));
  const auto both = before.AwaitAssignments(2);
  ASSERT_THAT(both, SizeIs(2));

  ScriptedWorker after(port());
  ASSERT_TRUE(after.Hello("a", {both[0]}));
  EXPECT_THAT(before.AwaitEnd(), Fails(absl::StatusCode::kAborted, "newer stream"));
  EXPECT_TRUE(after.AwaitVerdict(both[0], v1::Standing::HELD).has_value());
  // What was lost on the way is granted again, as a new attempt, uncounted.
  ASSERT_TRUE(after.Demand(1));
  const auto again = after.AwaitAssignments(1);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].trial(), both[1].trial());
  EXPECT_EQ(again[0].attempt(), 2);
  EXPECT_EQ(Value("SELECT sum(losses + crashes) FROM trials"), "0");
  // The held one goes on where it was.
  ASSERT_TRUE(after.Report(again[0], {0}));
  ASSERT_TRUE(after.AwaitPersisted(again[0], 0).has_value());
}

TEST_F(TroubleTest, AStreamOfAnotherServerTakesTheSessionOver) {
  Submit("s", 2);
  const std::unique_ptr<StepcurveServer> other = StartServer();
  ASSERT_NE(other, nullptr);
  ScriptedWorker before(port());
  ASSERT_TRUE(before.Hello("a"));
  ScriptedWorker after(other->port());
  ASSERT_TRUE(after.Hello("a"));
  // The old stream asks for work, which its server must not give it.
  ASSERT_TRUE(before.Demand(1));
  EXPECT_THAT(before.AwaitEnd(), Fails(absl::StatusCode::kAborted, "newer stream"));
  EXPECT_EQ(before.assignments(), 0u);
  ASSERT_TRUE(after.Demand(1));
  EXPECT_THAT(after.AwaitAssignments(1), SizeIs(1));
}

TEST_F(TroubleTest, AWorkerCarriesItsTrialOverARestartOfTheServer) {
  Submit("s", 1);
  ScriptedWorker before(port());
  ASSERT_TRUE(before.Hello("a"));
  ASSERT_TRUE(before.Demand(1));
  const auto assignments = before.AwaitAssignments(1);
  ASSERT_THAT(assignments, SizeIs(1));
  ASSERT_TRUE(before.Report(assignments[0], {0, 10, 20}));
  ASSERT_TRUE(before.AwaitPersisted(assignments[0], 20).has_value());
  server_->Stop(absl::Seconds(5));
  EXPECT_TRUE(before.AwaitMessage([](const v1::ServerMessage& message) { return message.has_reconnect(); }));
  EXPECT_THAT(before.AwaitEnd(), HasCode(absl::StatusCode::kUnavailable));

  server_ = StartServer();
  ScriptedWorker after(port());
  ASSERT_TRUE(after.Hello("a", assignments));
  const auto standing = after.AwaitVerdict(assignments[0], v1::Standing::HELD);
  ASSERT_TRUE(standing.has_value());
  EXPECT_EQ(standing->persisted_step(), 20);
  // It does not know that 20 was stored, and sends that again with what came since. The study is known from before.
  const int metrics = before.study(assignments[0].study()).metrics_size();
  v1::WorkerMessage message;
  v1::Report& report = *message.add_reports();
  report.set_trial(assignments[0].trial());
  report.set_attempt(1);
  report.set_first_step(20);
  report.add_step_deltas(80);
  for (int i = 0; i < 2 * metrics; ++i) {
    report.add_values(0.5);
  }
  v1::End& end = *message.add_ends();
  end.set_trial(assignments[0].trial());
  end.set_attempt(1);
  end.set_last_step(100);
  end.mutable_complete();
  ASSERT_TRUE(after.Send(message));
  const auto ended = after.AwaitVerdict(assignments[0], v1::Standing::ENDED);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state(), v1::COMPLETE);
  EXPECT_EQ(Value("SELECT array_agg(step) FROM (SELECT unnest(steps) AS step FROM chunks ORDER BY 1) s"),
            "{0,10,20,100}");
  EXPECT_EQ(Value("SELECT attempt FROM trials"), "1");
}

TEST_F(TroubleTest, AWaitingDatabaseStopsTheReadingAndNotTheLease) {
  server_->Stop(absl::ZeroDuration());
  server_options_.queue.source_bytes = 4 << 10;
  server_ = StartServer();
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  ASSERT_TRUE(worker.Demand(1));
  const auto assignments = worker.AwaitAssignments(1);
  ASSERT_THAT(assignments, SizeIs(1));

  pqxx::connection holder(options_.conninfo);
  pqxx::work hold(holder);
  hold.exec(absl::StrCat("SELECT * FROM ", options_.schema, ".trials FOR UPDATE"));
  // Far more than the quota.
  constexpr int kReports = 2'000;
  std::thread writer([&] {
    for (int i = 0; i < kReports; ++i) {
      worker.Report(assignments[0], {0, 10, 20, 30, 40, 50, 60, 70, 80, 90});
    }
    worker.Report(assignments[0], {100});
    worker.Complete(assignments[0]);
  });
  // Not one heartbeat is read, and yet the lease lasts beyond its time, twice.
  const std::string hello = Value("SELECT expires_at FROM sessions");
  EXPECT_TRUE(
      Comes(absl::StrCat("SELECT expires_at > '", hello, "'::timestamptz + interval '6 s' FROM sessions"), "t"));
  EXPECT_EQ(Value("SELECT count(*) FROM sessions WHERE ended_at IS NULL"), "1");
  EXPECT_EQ(Value("SELECT count(*) FROM chunks"), "0");
  hold.abort();
  const auto ended = worker.AwaitVerdict(assignments[0], v1::Standing::ENDED);
  writer.join();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->state(), v1::COMPLETE);
  EXPECT_EQ(Value("SELECT sum(cardinality(steps)) FROM chunks"), "11");
}

struct BadMessage {
  const char* name;
  const char* names;  // What the status must name.
  std::function<void(const v1::Assignment&, v1::WorkerMessage&)> make;
};

v1::Report& ReportOf(const v1::Assignment& assignment, v1::WorkerMessage& message, int64_t first, int values) {
  v1::Report& report = *message.add_reports();
  report.set_trial(assignment.trial());
  report.set_attempt(assignment.attempt());
  report.set_first_step(first);
  for (int i = 0; i < values; ++i) {
    report.add_values(1);
  }
  return report;
}

class BadMessageTest : public ServerTest, public ::testing::WithParamInterface<BadMessage> {};

TEST_P(BadMessageTest, EndsItsStreamOnly) {
  Submit("s", 2);
  ScriptedWorker good(port());
  ScriptedWorker bad(port());
  ASSERT_TRUE(good.Hello("good") && bad.Hello("bad"));
  ASSERT_TRUE(bad.Demand(1));
  const auto of_bad = bad.AwaitAssignments(1);
  ASSERT_THAT(of_bad, SizeIs(1));
  v1::WorkerMessage message;
  GetParam().make(of_bad[0], message);
  ASSERT_TRUE(bad.Send(message));
  EXPECT_THAT(bad.AwaitEnd(), Fails(absl::StatusCode::kInvalidArgument, GetParam().names));
  ASSERT_TRUE(good.Demand(1));
  const auto of_good = good.AwaitAssignments(1);
  ASSERT_THAT(of_good, SizeIs(1));
  ASSERT_TRUE(good.Report(of_good[0], {0, 100}));
  EXPECT_TRUE(good.AwaitPersisted(of_good[0], 100).has_value());
  EXPECT_EQ(Value("SELECT count(*) FROM chunks"), "1");
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMessageTest,
    ::testing::Values(
        BadMessage{"SecondHello", "second hello",
                   [](const auto&, v1::WorkerMessage& message) { message = ScriptedWorker::HelloMessage("bad"); }},
        BadMessage{"UnknownAttempt", "attempt 9: neither assigned",
                   [](v1::Assignment assignment, v1::WorkerMessage& message) {
                     assignment.set_attempt(9);
                     ReportOf(assignment, message, 0, 2);
                   }},
        BadMessage{"WrongWidth", "values",
                   [](const auto& assignment, v1::WorkerMessage& message) { ReportOf(assignment, message, 0, 77); }},
        // In form, but no worker of ours starts from a checkpoint yet: the flush finds it, alone in its batch or not.
        BadMessage{"RefusedByTheFlush", "attempt 1",
                   [](const auto& assignment, v1::WorkerMessage& message) {
                     v1::Start& start = *message.add_starts();
                     start.set_trial(assignment.trial());
                     start.set_attempt(assignment.attempt());
                     start.set_base_step(50);
                   }}),
    [](const auto& info) { return info.param.name; });

TEST_F(TroubleTest, AFirstMessageThatIsNoHelloEndsTheStream) {
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Demand(1));
  EXPECT_THAT(worker.AwaitEnd(), Fails(absl::StatusCode::kInvalidArgument, "hello"));
}

TEST_F(TroubleTest, ASweepThatDoesNotExistIsNamed) {
  v1::WorkerMessage hello = ScriptedWorker::HelloMessage("a");
  hello.mutable_hello()->add_sweeps("nowhere");
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Send(hello));
  EXPECT_THAT(worker.AwaitEnd(), Fails(absl::StatusCode::kNotFound, "nowhere"));
}

TEST_F(TroubleTest, FiveFailuresBeforeTheFirstStepDrainTheWorker) {
  Submit("s", 1);
  ScriptedWorker worker(port());
  ASSERT_TRUE(worker.Hello("a"));
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(worker.Demand(i));
    const auto assignments = worker.AwaitAssignments(i);
    ASSERT_THAT(assignments, SizeIs(i));
    v1::WorkerMessage message;
    v1::End& end = *message.add_ends();
    end.set_trial(assignments.back().trial());
    end.set_attempt(assignments.back().attempt());
    end.set_last_step(-1);
    end.mutable_failure()->set_kind(v1::End::Failure::WORKER);
    end.mutable_failure()->set_before_first_step(true);
    end.mutable_failure()->set_message("no driver");
    ASSERT_TRUE(worker.Send(message));
  }
  EXPECT_TRUE(worker.AwaitMessage([](const v1::ServerMessage& message) { return message.has_drain(); }));
  EXPECT_EQ(Value("SELECT state FROM trials"), "queued");
}

}  // namespace
}  // namespace stepcurve
