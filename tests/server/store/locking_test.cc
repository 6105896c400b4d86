// SPDX-License-Identifier: Apache-2.0
//
// Interleavings that races meet too rarely: another transaction is held in mid-air, and what must wait for it has to be
// seen waiting.
#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/pg_connection.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LockingTest : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    auto holder = PgConnection::Open(options_);
    ASSERT_THAT(holder, IsOk());
    holder_ = *std::move(holder);
  }

  // Of the transaction that is under way.
  void Hold(const std::string& statement) { ASSERT_THAT(holder_->Run(statement.c_str()), IsOk()) << statement; }
  void HoldSession(const TestWorker& worker, const std::string& strength) {
    Hold(absl::StrCat("BEGIN; SELECT 1 FROM sessions WHERE id = ", worker.session.session, " FOR ", strength));
  }

  // Runs `action` on a thread of its own until it waits for the holder or has finished; calls `meanwhile` with whether
  // it waits; then lets the holder commit.
  template <typename Action, typename Meanwhile>
  void While(Action action, Meanwhile meanwhile) {
    std::atomic<bool> finished = false;
    std::thread thread([&] {
      action();
      finished = true;
    });
    const std::string waiting = absl::StrCat("SELECT count(*) FROM pg_stat_activity WHERE ",
                                             PQbackendPID(holder_->handle()), " = ANY (pg_blocking_pids(pid))");
    bool waits = false;
    for (const absl::Time give_up = absl::Now() + absl::Seconds(30); !waits && !finished && absl::Now() < give_up;) {
      waits = Number(waiting) > 0;
    }
    meanwhile(waits);
    Hold("COMMIT");
    thread.join();
  }

  std::unique_ptr<PgConnection> holder_;
};

// A claim and the end of its session never pass each other.
TEST_F(LockingTest, AClaimWaitsForTheEndOfItsSessionAndGrantsNothing) {
  Create("s", 4);
  const TestWorker worker = Register("a");
  HoldSession(worker, "UPDATE");
  ClaimStore::Result result;
  While([&] { result = *claims_->Claim({Wants(worker, 2)}); },
        [&](bool waits) {
          EXPECT_TRUE(waits);
          Hold(absl::StrCat("UPDATE sessions SET ended_at = now(), end_reason = 'gone' WHERE id = ",
                            worker.session.session));
        });
  EXPECT_THAT(result.grants, IsEmpty());
  EXPECT_THAT(result.gone, ElementsAre(worker.session.session));
}

TEST_F(LockingTest, AClaimWaitsForAHelloAndItsStreamIsOldThen) {
  Create("s", 4);
  const TestWorker worker = Register("a");
  HoldSession(worker, "UPDATE");
  ClaimStore::Result result;
  While([&] { result = *claims_->Claim({Wants(worker, 2)}); },
        [&](bool waits) {
          EXPECT_TRUE(waits);
          Hold("UPDATE sessions SET stream = stream + 1");
        });
  EXPECT_THAT(result.gone, ElementsAre(worker.session.session));
}

TEST_F(LockingTest, TheEndOfASessionWaitsForAClaimUnderWay) {
  const TestWorker worker = Register("a");
  HoldSession(worker, "KEY SHARE");
  While([&] { EXPECT_THAT(sessions_->End(worker.session.session, "gone"), IsOk()); },
        [&](bool waits) { EXPECT_TRUE(waits); });
}

TEST_F(LockingTest, AHelloWaitsForAClaimUnderWay) {
  Register("a");
  HoldSession(Register("a"), "KEY SHARE");
  While([&] { EXPECT_THAT(sessions_->Hello(HelloOf("a")), IsOk()); }, [&](bool waits) { EXPECT_TRUE(waits); });
}

TEST_F(LockingTest, ASessionWithAClaimUnderWayIsEndedTheNextTime) {
  const TestWorker worker = Register("a");
  Expire(worker);
  LetLeasesMatter();
  HoldSession(worker, "KEY SHARE");
  EXPECT_THAT(*sessions_->EndExpired(), IsEmpty());
  Hold("COMMIT");
  EXPECT_THAT(*sessions_->EndExpired(), SizeIs(1));
}

TEST_F(LockingTest, AHeartbeatWaitsForNoClaim) {
  const TestWorker worker = Register("a");
  HoldSession(worker, "KEY SHARE");
  EXPECT_THAT(*sessions_->Renew({worker.session.session}), IsEmpty());
  Hold("COMMIT");
}

// The flush has read the trial and stored its points when another server's flush of the same stream commits.
TEST_F(LockingTest, PointsThatAnotherServerStoresMeanwhileAreTrimmed) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(StartOf(grant));
  Hold(absl::StrCat("BEGIN; UPDATE trials SET last_step = 50 WHERE id = ", grant.trial));
  Hold(absl::StrCat("INSERT INTO chunks VALUES (", grant.trial, ", 1, 0, 50, 0, 0, '{0,50}', '{1,1,1,1}')"));
  Standing standing;
  While([&] { standing = FlushOne(PointsOf(grant, {10, 50, 60})); }, [&](bool waits) { EXPECT_TRUE(waits); });
  EXPECT_EQ(standing.persisted_step, 60);
  EXPECT_THAT(Sql("SELECT steps FROM chunks ORDER BY first_step"), ElementsAre("{0,50}", "{60}"));
}

// The same, and the other transaction takes the trial away.
TEST_F(LockingTest, AnAttemptThatIsTakenAwayMeanwhileIsLost) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(StartOf(grant));
  Hold(absl::StrCat("BEGIN; UPDATE trials SET attempt = 2, base_step = NULL WHERE id = ", grant.trial));
  Standing standing;
  While([&] { standing = FlushOne(PointsOf(grant, {0})); }, [&](bool waits) { EXPECT_TRUE(waits); });
  EXPECT_EQ(standing.verdict, Verdict::kLost);
  EXPECT_EQ(Number("SELECT count(*) FROM chunks"), 0);
}

TEST_F(LockingTest, AFlushThatEndsATrialWaitsForTheCancelOfItsSweepAndAddsNothing) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  Hold("BEGIN; SELECT 1 FROM sweeps FOR UPDATE");
  While([&] { FlushOne(EndOf(grant, Diverged{.step = 1}, 0, {0})); },
        [&](bool waits) {
          EXPECT_TRUE(waits);
          Hold("UPDATE sweeps SET state = 'cancelled', end_time = now()");
        });
  EXPECT_EQ(Value("SELECT created, infeasible FROM strands"), "1|1");
}

}  // namespace
}  // namespace stepcurve
