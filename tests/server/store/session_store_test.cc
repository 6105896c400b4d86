// SPDX-License-Identifier: Apache-2.0
#include "server/store/session_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/trial_store.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SessionStoreTest : public FleetTest {
 protected:
  std::string Ended(const TestWorker& worker) {
    return Value(absl::StrCat("SELECT ended_at IS NOT NULL FROM sessions WHERE id = ", worker.session.session));
  }
};

TEST_F(SessionStoreTest, EveryHelloRaisesTheStream) {
  const TestWorker first = Register("a");
  const TestWorker again = Register("a");
  EXPECT_EQ(again.session.session, first.session.session);
  EXPECT_EQ(again.session.stream, first.session.stream + 1);
}

TEST_F(SessionStoreTest, AnEndedSessionIsNeverRevived) {
  const TestWorker worker = Register("a");
  ASSERT_THAT(sessions_->End(worker.session.session, "its node went away"), IsOk());
  EXPECT_THAT(sessions_->Hello(HelloOf("a")), Fails(absl::StatusCode::kFailedPrecondition, "its node went away"));
  EXPECT_THAT(*sessions_->Renew({worker.session.session}), ElementsAre(worker.session.session));
  EXPECT_EQ(Ended(worker), "t");
}

TEST_F(SessionStoreTest, EndingTwiceKeepsTheFirstReason) {
  const TestWorker worker = Register("a");
  ASSERT_THAT(sessions_->End(worker.session.session, "first"), IsOk());
  ASSERT_THAT(sessions_->End(worker.session.session, "second"), IsOk());
  EXPECT_EQ(Value("SELECT end_reason FROM sessions"), "first");
}

TEST_F(SessionStoreTest, RefusesAKeyThatIsNoKey) {
  HelloRequest hello = HelloOf("a");
  hello.key = "ABC";
  EXPECT_THAT(sessions_->Hello(hello), Fails(absl::StatusCode::kInvalidArgument, "ABC"));
}

TEST_F(SessionStoreTest, KnowsSweepsByNameAndId) {
  const int64_t sweep = Create("mine", 1);
  HelloRequest hello = HelloOf("a");
  hello.sweeps = {"mine", absl::StrCat(sweep)};
  EXPECT_THAT(sessions_->Hello(hello), IsOk());
  EXPECT_THAT(*(*sessions_->Live())[0].sweeps, ElementsAre(sweep, sweep));
  hello.sweeps = {"other"};
  EXPECT_THAT(sessions_->Hello(hello), Fails(absl::StatusCode::kNotFound, "other"));
}

TEST_F(SessionStoreTest, TellsHeldEndedAndLost) {
  Create("s", 4);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 3);
  Flush({PointsOf(grants[0], {0, 10}), WholeOf(grants[1])});
  HelloRequest hello = HelloOf("a");
  hello.held = {{grants[0].trial, 1}, {grants[1].trial, 1}, {grants[2].trial, 7}, {12345, 1}};
  const TestWorker again = Register(hello);
  ASSERT_THAT(again.hello.standings, SizeIs(4));
  EXPECT_EQ(again.hello.standings[0].verdict, Verdict::kHeld);
  EXPECT_EQ(again.hello.standings[0].persisted_step, 10);
  EXPECT_EQ(again.hello.standings[1].verdict, Verdict::kEnded);
  EXPECT_EQ(again.hello.standings[1].state, TrialState::kComplete);
  EXPECT_EQ(again.hello.standings[2].verdict, Verdict::kLost);
  EXPECT_EQ(again.hello.standings[3].verdict, Verdict::kLost);
}

TEST_F(SessionStoreTest, AnotherSessionsTrialIsLost) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  HelloRequest hello = HelloOf("b");
  hello.held = {{grant.trial, grant.attempt}};
  EXPECT_EQ(Register(hello).hello.standings[0].verdict, Verdict::kLost);
  EXPECT_EQ(State(grant.trial), "running");
}

TEST_F(SessionStoreTest, WhatIsNotListedGoesBackUncounted) {
  Create("s", 4);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 3);
  Flush({PointsOf(grants[1], {0, 10})});
  HelloRequest hello = HelloOf("a");
  hello.held = {{grants[0].trial, 1}};
  Register(hello);
  EXPECT_EQ(State(grants[0].trial), "running");
  EXPECT_EQ(State(grants[1].trial), "queued");
  EXPECT_EQ(State(grants[2].trial), "queued");
  EXPECT_EQ(Number("SELECT sum(losses + crashes) FROM trials"), 0);
  EXPECT_THAT(Sql("SELECT attempt, outcome, base_step, last_step FROM past_attempts ORDER BY trial_id"),
              ElementsAre("1|released|-1|10", "1|released||-1"));
}

TEST_F(SessionStoreTest, ATrialGrantedWhileItsStreamBrokeComesBack) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  const Grant grant = ClaimOne(worker);  // The message never arrives.
  const TestWorker again = Register("a");
  EXPECT_EQ(State(grant.trial), "queued");
  EXPECT_EQ(ClaimOne(again).trial, grant.trial);
}

TEST_F(SessionStoreTest, AReplacedSessionEndsAndItsListedAttemptsMove) {
  Create("s", 3);
  const TestWorker old = Register("a");
  const std::vector<Grant> grants = Claim(old, 2);
  Flush({PointsOf(grants[0], {0, 10})});
  HelloRequest hello = HelloOf("b");
  hello.replaces = old.key;
  hello.held = {{grants[0].trial, 1}};
  const TestWorker heir = Register(hello);
  EXPECT_EQ(Ended(old), "t");
  EXPECT_EQ(heir.hello.standings[0].verdict, Verdict::kHeld);
  EXPECT_EQ(heir.hello.standings[0].persisted_step, 10);
  EXPECT_EQ(Number(absl::StrCat("SELECT session_id FROM trials WHERE id = ", grants[0].trial)), heir.session.session);
  // The attempt goes on under its number, and the rest comes back.
  EXPECT_EQ(FlushOne(PointsOf(grants[0], {20})).persisted_step, 20);
  Reap();
  EXPECT_EQ(State(grants[0].trial), "running");
  EXPECT_EQ(State(grants[1].trial), "queued");
  EXPECT_THAT(*claims_->HeldBy(heir.session.session), SizeIs(1));
}

TEST_F(SessionStoreTest, OnlyWhatIsPastItsLeaseEnds) {
  const TestWorker late = Register("late");
  const TestWorker alive = Register("alive");
  Expire(late);
  LetLeasesMatter();
  EXPECT_THAT(*sessions_->EndExpired(), ElementsAre(late.session.session));
  EXPECT_THAT(*sessions_->EndExpired(), IsEmpty());
  EXPECT_EQ(Ended(alive), "f");
}

TEST_F(SessionStoreTest, ARenewedSessionIsNotEnded) {
  const TestWorker worker = Register("a");
  LetLeasesMatter();
  Expire(worker);
  EXPECT_THAT(*sessions_->Renew({worker.session.session}), IsEmpty());
  EXPECT_THAT(*sessions_->EndExpired(), IsEmpty());
}

TEST_F(SessionStoreTest, NobodyIsEndedForTheDatabasesAbsence) {
  const TestWorker worker = Register("a");
  Expire(worker);
  Sql("UPDATE service SET seen_at = now() - interval '30 seconds', available_since = now() - interval '1 hour'");
  EXPECT_THAT(*sessions_->EndExpired(), IsEmpty()) << "no server has stamped for half a lease";
  ASSERT_THAT(sessions_->StampService(), IsOk());
  EXPECT_THAT(*sessions_->EndExpired(), IsEmpty()) << "the servers are back for less than a lease";
  Sql("UPDATE service SET available_since = now() - interval '61 seconds'");
  ASSERT_THAT(sessions_->StampService(), IsOk());
  EXPECT_THAT(*sessions_->EndExpired(), ElementsAre(worker.session.session));
}

TEST_F(SessionStoreTest, ATrialOfTwentyLeasesRunsOnceWithHealthyHeartbeats) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  const Grant grant = ClaimOne(worker);
  FlushOne(StartOf(grant));
  for (int lease = 0; lease < 20; ++lease) {
    Sql("UPDATE sessions SET expires_at = expires_at - interval '59 seconds'");
    Reap();
    ASSERT_THAT(*sessions_->Renew({worker.session.session}), IsEmpty());
  }
  EXPECT_EQ(FlushOne(WholeOf(grant)).verdict, Verdict::kEnded);
  EXPECT_EQ(Value("SELECT state, attempt FROM trials"), "complete|1");
}

TEST_F(SessionStoreTest, ALossCountsOnlyWhereTheAttemptHadStarted) {
  Create("s", 2);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 2);
  Flush({PointsOf(grants[0], {0, 10})});
  Expire(worker);
  Reap();
  EXPECT_THAT(Sql("SELECT state, losses, crashes, session_id, base_step, last_step FROM trials ORDER BY id"),
              ElementsAre("queued|1|0|||10", "queued|0|0|||-1"));
  EXPECT_THAT(Sql("SELECT outcome, base_step, last_step, error FROM past_attempts ORDER BY trial_id"),
              ElementsAre("lost|-1|10|its lease ran out", "lost||-1|its lease ran out"));
  EXPECT_EQ(Number("SELECT count(*) FROM grants"), 0);
  EXPECT_EQ(Value("SELECT released FROM sessions"), "t");
}

TEST_F(SessionStoreTest, AttemptsKeepTheSlotsTheyRanIn) {
  Create("s", 2);
  const int64_t cancelled = Create("cancelled", 1);
  HelloRequest hello = HelloOf("a");
  hello.slot_classes = {{.threads = 1, .slots = 8}, {.threads = 4, .slots = 8}};
  const TestWorker worker = Register(hello);
  const auto claimed = claims_->Claim({{.session = &worker.session, .demands = {{.slot_class = 1, .wanted = 3}}}});
  ASSERT_THAT(claimed, IsOk());
  ASSERT_THAT(claimed->grants, SizeIs(3));
  const auto held = claims_->HeldBy(worker.session.session);
  ASSERT_THAT(held, IsOk());
  TrialStore trials(database_.get());
  // Both slot classes fit; the first is not the one that was asked for.
  const auto slots = [&](int64_t trial) {
    const auto attempts = trials.Attempts(trial);
    EXPECT_THAT(attempts, IsOk());
    std::vector<std::string> lines;
    for (const AttemptRow& attempt : attempts.value_or(std::vector<AttemptRow>())) {
      lines.push_back(absl::StrCat(attempt.outcome, " on ", attempt.device, " with ", attempt.threads));
    }
    return lines;
  };
  std::vector<Grant> others;
  for (const Grant& grant : *held) {
    EXPECT_EQ(grant.slot_class, 1);
    EXPECT_THAT(slots(grant.trial), ElementsAre("running on cpu with 4"));
    if (grant.sweep != cancelled) {
      others.push_back(grant);
    }
  }
  ASSERT_THAT(others, SizeIs(2));
  Flush({WholeOf(others[0]), PointsOf(others[1], {0, 10})});
  ASSERT_THAT(sweeps_->Cancel("cancelled"), IsOk());
  ASSERT_THAT(sweeps_->CancelSlice(), IsOk());
  Expire(worker);
  Reap();
  EXPECT_THAT(slots(others[0].trial), ElementsAre("complete on cpu with 4"));
  EXPECT_THAT(slots(others[1].trial), ElementsAre("lost on cpu with 4"));
  EXPECT_THAT(Sql("SELECT outcome, slot_class FROM past_attempts ORDER BY outcome"),
              ElementsAre("cancelled|1", "complete|1", "lost|1"));
  EXPECT_EQ(Number("SELECT count(slot_class) FROM trials"), 0);
}

TEST_F(SessionStoreTest, ARestartFromScratchSupersedesWhatWasLost) {
  Create("s", 1);
  const TestWorker lost = Register("a");
  Flush({PointsOf(ClaimOne(lost), {0, 10, 20})});
  Expire(lost);
  Reap();
  const Grant second = ClaimOne(Register("b"));
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(second.persisted_step, -1);
  EXPECT_EQ(Number("SELECT count(*) FROM measurements WHERE superseded"), 0) << "it counts until another has started";
  EXPECT_EQ(FlushOne(StartOf(second)).persisted_step, -1);
  EXPECT_EQ(Number("SELECT count(*) FROM measurements WHERE NOT superseded"), 0);
  EXPECT_EQ(FlushOne(PointsOf(second, {0, 10})).persisted_step, 10);
  EXPECT_THAT(Sql("SELECT attempt, step FROM measurements WHERE NOT superseded AND metric = 'val/loss' ORDER BY step"),
              ElementsAre("2|0", "2|10"));
}

TEST_F(SessionStoreTest, CancelKeepsRecordsAndAttemptsOfWhatWasMeasured) {
  Create("s", 3);
  const TestWorker first = Register("worker-1");
  std::vector<Grant> grants = {ClaimOne(first), ClaimOne(first)};
  Flush({PointsOf(grants[0], {0, 10}), PointsOf(grants[1], {0, 20})});
  ASSERT_THAT(sessions_->End(first.session.session, "gone"), IsOk());
  ASSERT_THAT(sessions_->ReleaseEnded(10), IsOk());
  const TestWorker second = Register("worker-2");
  const Grant again = ClaimOne(second);  // Granted again, not started; the other one waits; the third was never granted.
  ASSERT_THAT(sweeps_->Cancel("s"), IsOk());
  ASSERT_THAT(sweeps_->CancelSlice(), IsOk());
  EXPECT_THAT(Sql("SELECT r.steps[1:2] FROM records r JOIN trials t ON t.id = r.trial_id AND t.state = 'cancelled'"
                  " ORDER BY t.number"),
              ElementsAre("{0,10}", "{0,20}"));
  EXPECT_EQ(Value(absl::StrCat("SELECT attempt, base_step IS NULL, last_step, outcome FROM past_attempts WHERE trial_id = ",
                               again.trial, " AND attempt = ", again.attempt)),
            "2|t|-1|cancelled");
}

class LossCapTest : public SessionStoreTest {
 protected:
  LossCapTest() { caps_.losses = 2; }
};

TEST_F(LossCapTest, FailsTheTrialAndKeepsItsRecords) {
  const int64_t sweep = Create("s", 1);
  for (int loss = 1; loss <= 2; ++loss) {
    const TestWorker worker = Register(absl::StrCat("worker-", loss));
    const Grant grant = ClaimOne(worker);
    Flush({PointsOf(grant, {0, 10, 20 * loss})});
    ASSERT_THAT(sessions_->End(worker.session.session, "gone"), IsOk());
    const auto released = sessions_->ReleaseEnded(10);
    ASSERT_THAT(released, IsOk());
    EXPECT_THAT(released->sweeps_to_check, loss == 2 ? std::vector<int64_t>{sweep} : std::vector<int64_t>{});
  }
  EXPECT_EQ(Value("SELECT state, end_reason, losses, error FROM trials"),
            "failed|lost_too_often|2|its worker was lost 2 times");
  EXPECT_EQ(Value("SELECT offsets, steps FROM records"), "{0,3,4,7,8}|{0,10,40,0,0,10,40,0}");
  EXPECT_EQ(Number("SELECT results_version FROM studies"), 1);
}

TEST_F(SessionStoreTest, NeverStartedAttemptsNeverFailATrial) {
  Create("s", 1);
  for (int i = 0; i < 25; ++i) {
    const TestWorker worker = Register(absl::StrCat("worker-", i));
    ClaimOne(worker);
    ASSERT_THAT(sessions_->End(worker.session.session, "gone"), IsOk());
    ASSERT_THAT(sessions_->ReleaseEnded(10), IsOk());
  }
  EXPECT_EQ(Value("SELECT state, losses, attempt FROM trials"), "queued|0|25");
}

TEST_F(SessionStoreTest, ReleasesInSlicesThatAnyServerMayTakeUp) {
  Create("s", 10);
  const TestWorker worker = Register("a");
  Claim(worker, 10);
  Expire(worker);
  LetLeasesMatter();
  ASSERT_THAT(sessions_->EndExpired(), IsOk());
  EXPECT_TRUE(sessions_->ReleaseEnded(4)->more);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'running'"), 6);
  // That server dies here; another one goes on.
  SessionStore other({.database = database_.get()});
  EXPECT_TRUE(other.ReleaseEnded(4)->more);
  EXPECT_FALSE(other.ReleaseEnded(4)->more);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'running'"), 0);
  EXPECT_FALSE(other.ReleaseEnded(4)->more);
  EXPECT_EQ(Value("SELECT released FROM sessions"), "t");
}

TEST_F(SessionStoreTest, ReleasingGivesTheSweepsCapBack) {
  SweepPlan plan = QuadraticPlan("capped", {8}, 9);
  plan.max_running = 3;
  Create(plan);
  const TestWorker worker = Register("a");
  EXPECT_THAT(Claim(worker, 9), SizeIs(3));
  Expire(worker);
  Reap();
  EXPECT_THAT(Claim(Register("b"), 9), SizeIs(3));
}

TEST_F(SessionStoreTest, ListsWhoLivesAndWhoWasLostOfLate) {
  Create("s", 3);
  HelloRequest hello = HelloOf("here");
  hello.slot_classes = {
      {.device = "cuda", .devices = 2, .memory_bytes = 80, .threads = 3, .slots = 4, .description = "H"}};
  hello.versions = {"torch 1.13.1"};
  const TestWorker here = Register(hello);
  const TestWorker gone = Register("gone");
  Claim(here, 2);
  ASSERT_THAT(sessions_->End(gone.session.session, "goodbye"), IsOk());
  const auto live = sessions_->Live();
  ASSERT_THAT(live, IsOk());
  ASSERT_THAT(*live, SizeIs(1));
  const SessionRow& row = (*live)[0];
  EXPECT_EQ(row.id, here.session.session);
  EXPECT_EQ(row.key, here.key);
  EXPECT_EQ(row.worker_name, "here");
  EXPECT_EQ(row.running, 2);
  ASSERT_THAT(row.slot_classes, SizeIs(1));
  EXPECT_EQ(row.slot_classes[0].device, "cuda");
  EXPECT_EQ(row.slot_classes[0].slots, 4);
  EXPECT_EQ(row.can_run.models, Everything().models);
  EXPECT_FALSE(row.sweeps.has_value());
  EXPECT_EQ(Value("SELECT versions[1] FROM sessions WHERE ended_at IS NULL"), "torch 1.13.1");
  const auto all = sessions_->List(absl::Hours(1));
  ASSERT_THAT(all, IsOk());
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_EQ((*all)[1].end_reason, "goodbye");
  EXPECT_TRUE((*all)[1].ended_at.has_value());
}

}  // namespace
}  // namespace stepcurve
