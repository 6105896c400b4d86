// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/sweep_store.h"
#include "tests/server/store/plans.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class SweepMovesTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    store_ = std::make_unique<SweepStore>(database_.get());
  }
  int64_t Create(const SweepPlan& plan) {
    const auto created = store_->Create(plan, SourceOf(plan));
    EXPECT_THAT(created, IsOk());
    return created.ok() ? created->sweep.id : 0;
  }
  // Ends every trial of a sweep as a flush does: trials and counts in one transaction.
  std::string EndTrials(const std::string& where) {
    return absl::StrCat(
        "WITH t AS (UPDATE trials SET state = 'complete', attempt = 1, end_reason = 'budget', end_time = now() WHERE ",
        where,
        " RETURNING strand_id), n AS (SELECT strand_id, count(*) AS n FROM t GROUP BY strand_id) UPDATE strands d SET"
        " queued = queued - n.n, complete = complete + n.n FROM n WHERE d.id = n.strand_id");
  }
  // Grants the first `count` trials of every strand to session 1.
  void Grant(int count) {
    Sql(absl::StrCat(
        "UPDATE trials SET state = 'running', session_id = 1, attempt = 1, grant_time = now(), base_step = -1,"
        " last_step = 20 WHERE position < ",
        count, "; UPDATE strands SET granted = ", count, ", queued = queued - ", count, ", running = ", count));
  }
  void ExpectCountsMatchTrials() {
    EXPECT_THAT(Sql("SELECT d.id FROM strands d WHERE (queued, running, complete, cancelled) IS DISTINCT FROM"
                    " (SELECT (count(*) FILTER (WHERE state = 'queued'), count(*) FILTER (WHERE state = 'running'),"
                    "   count(*) FILTER (WHERE state = 'complete'), count(*) FILTER (WHERE state = 'cancelled'))"
                    "    FROM trials t WHERE t.strand_id = d.id)"),
                IsEmpty());
  }
  // Slices until none is left; fails the test where that takes more than `most`.
  int RunSlices(int most) {
    int slices = 0;
    for (bool more = true; more && slices <= most; ++slices) {
      const auto result = store_->CancelSlice();
      EXPECT_THAT(result, IsOk());
      more = result.ok() && *result;
    }
    EXPECT_LE(slices, most);
    return slices;
  }

  std::unique_ptr<SweepStore> store_;
};

TEST_F(SweepMovesTest, PauseAndResumeAreIdempotentAndRaiseTheVersionOnce) {
  Create(QuadraticPlan("s", {1}, 1));
  EXPECT_EQ(store_->Pause("s")->state, SweepState::kPaused);
  EXPECT_EQ(store_->Pause("s")->version, 2);
  EXPECT_EQ(store_->Resume("s")->state, SweepState::kActive);
  EXPECT_EQ(store_->Resume("s")->version, 3);
}

TEST_F(SweepMovesTest, AResumedSweepIsLevelWithTheActiveOnesOfItsPriority) {
  Create(QuadraticPlan("s", {1}, 1));
  Create(QuadraticPlan("busy", {1}, 1));
  ASSERT_THAT(store_->Pause("s"), IsOk());
  Sql("UPDATE sweeps SET pass = 500 WHERE name = 'busy'");
  ASSERT_THAT(store_->Resume("s"), IsOk());
  EXPECT_EQ(Value("SELECT pass FROM sweeps WHERE name = 's'"), "500");
}

TEST_F(SweepMovesTest, ACancelledSweepShowsAllOpenTrialsAsCancelledAtOnce) {
  const int64_t id = Create(QuadraticPlan("s", {1, 2}, 3));
  Grant(1);
  const auto sweep = store_->Cancel("s");
  ASSERT_THAT(sweep, IsOk());
  EXPECT_EQ(sweep->state, SweepState::kCancelled);
  EXPECT_TRUE(sweep->end_time.has_value());
  EXPECT_EQ(sweep->counts[TrialState::kCancelled], 6);
  EXPECT_EQ(sweep->counts.open(), 0);
  EXPECT_EQ((*store_->Studies(id))[0].counts[TrialState::kCancelled], 3);
  EXPECT_EQ(Number("SELECT sum(queued + running) FROM strands"), 6) << "the rows are turned by slices alone";
}

TEST_F(SweepMovesTest, NothingMovesACancelledOrFinishedSweep) {
  Create(QuadraticPlan("cancelled", {1}, 1));
  ASSERT_THAT(store_->Cancel("cancelled"), IsOk());
  EXPECT_THAT(store_->Cancel("cancelled"), IsOk());
  EXPECT_THAT(store_->Pause("cancelled"),
              Fails(absl::StatusCode::kFailedPrecondition, "\"cancelled\" is cancelled and cannot be paused"));
  EXPECT_THAT(store_->Resume("cancelled"), HasCode(absl::StatusCode::kFailedPrecondition));
  Create(QuadraticPlan("finished", {1}, 1));
  Sql(EndTrials("study_id = (SELECT max(id) FROM studies)"));
  ASSERT_THAT(store_->EndFinished(), IsOk());
  EXPECT_THAT(store_->Pause("finished"), Fails(absl::StatusCode::kFailedPrecondition, "is done"));
  EXPECT_THAT(store_->Cancel("finished"), Fails(absl::StatusCode::kFailedPrecondition, "is done"));
  EXPECT_THAT(store_->Pause("missing"), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(SweepMovesTest, CancelTurnsQueuedRequeuedAndRunningTrials) {
  SweepPlan plan = QuadraticPlan("s", {1, 2}, 4);
  plan.max_running = 100;
  Create(plan);
  Grant(2);
  Sql("UPDATE sweeps SET running = 4");
  // The second of each strand has come back, and one has ended.
  Sql("WITH t AS (UPDATE trials SET state = 'queued', session_id = NULL WHERE position = 1 RETURNING id, strand_id)"
      " INSERT INTO requeued (trial_id, strand_id) SELECT id, strand_id FROM t;"
      "UPDATE strands SET running = 1, queued = 3");
  Sql("UPDATE trials SET state = 'complete', session_id = NULL, end_reason = 'budget', end_time = now()"
      " WHERE id = (SELECT min(id) FROM trials);"
      "UPDATE strands SET running = 0, complete = 1 WHERE id = (SELECT min(id) FROM strands)");
  ASSERT_THAT(store_->Cancel("s"), IsOk());
  RunSlices(1);
  ExpectCountsMatchTrials();
  EXPECT_THAT(Sql("SELECT state, end_reason, count(*) FROM trials GROUP BY 1, 2 ORDER BY 1"),
              ElementsAre("complete|budget|1", "cancelled|cancelled|7"));
  EXPECT_EQ(Number("SELECT count(*) FROM requeued"), 0);
  EXPECT_THAT(Sql("SELECT attempt, session_id, base_step, last_step, outcome FROM past_attempts"),
              ElementsAre("1|1|-1|20|cancelled"));
  EXPECT_EQ(Value("SELECT cancel_pending, running FROM sweeps"), "f|3");
  EXPECT_THAT(Sql("SELECT results_version FROM studies ORDER BY id"), ElementsAre("1", "1"));
}

TEST_F(SweepMovesTest, CancelIsBoundedAndMayStopBetweenSlices) {
  Create(QuadraticPlan("s", {1, 2}, 12'000));
  Create(QuadraticPlan("other", {1}, 10));
  Grant(3);
  ASSERT_THAT(store_->Cancel("s"), IsOk());
  const auto more = store_->CancelSlice();
  ASSERT_THAT(more, IsOk());
  EXPECT_TRUE(*more);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'cancelled'"), 10'000);
  ExpectCountsMatchTrials();
  SweepStore another(database_.get());  // The first server has died.
  EXPECT_TRUE(*another.CancelSlice());
  EXPECT_FALSE(*another.CancelSlice());
  EXPECT_FALSE(*another.CancelSlice());
  ExpectCountsMatchTrials();
  EXPECT_THAT(Sql("SELECT w.name, t.state, count(*) FROM trials t JOIN studies s ON s.id = t.study_id"
                  " JOIN sweeps w ON w.id = s.sweep_id GROUP BY 1, 2 ORDER BY 1, 2"),
              ElementsAre("other|queued|7", "other|running|3", "s|cancelled|24000"));
}

TEST_F(SweepMovesTest, SlicesOfTwoServersDoNotCollide) {
  for (const char* name : {"a", "b"}) {
    Create(QuadraticPlan(name, {1, 2, 4}, 4'000));
    ASSERT_THAT(store_->Cancel(name), IsOk());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] { RunSlices(20); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  ExpectCountsMatchTrials();
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state <> 'cancelled'"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps WHERE cancel_pending"), 0);
}

TEST_F(SweepMovesTest, ASweepEndsWhenNothingIsQueuedOrRunning) {
  const int64_t id = Create(QuadraticPlan("s", {1, 2}, 2));
  Sql(EndTrials("position = 0"));
  EXPECT_THAT(*store_->EndFinished({id}), IsEmpty());
  Sql(EndTrials("position = 1"));
  EXPECT_THAT(*store_->EndFinished({id + 1}), IsEmpty());
  EXPECT_THAT(*store_->EndFinished({id}), ElementsAre(id));
  EXPECT_THAT(*store_->EndFinished({id}), IsEmpty());
  EXPECT_EQ(store_->Find("s")->state, SweepState::kDone);
}

TEST_F(SweepMovesTest, APausedSweepEndsToo) {
  const int64_t id = Create(QuadraticPlan("s", {1}, 1));
  ASSERT_THAT(store_->Pause("s"), IsOk());
  Sql(EndTrials("true"));
  EXPECT_THAT(*store_->EndFinished(), ElementsAre(id));
}

// Each of two flushes ends one of the last two trials and sees the other one running. Whoever looks after its own
// commit as EndFinished does sees both, in every order of commits.
TEST_F(SweepMovesTest, TwoTransactionsThatEndTheLastTwoTrialsEndTheSweep) {
  const int64_t id = Create(QuadraticPlan("s", {1, 2}, 1));
  auto other = Database::Connect(options_);
  ASSERT_THAT(other, IsOk());
  const int64_t first = Number("SELECT min(id) FROM trials");
  ASSERT_THAT(database_->Transaction([&](pqxx::work& one) {
    one.exec(EndTrials(absl::StrCat("id = ", first)));
    EXPECT_THAT((*other)->Transaction([&](pqxx::work& two) {
      two.exec(EndTrials(absl::StrCat("id <> ", first)));
      return absl::OkStatus();
    }),
                IsOk());
    EXPECT_THAT(*SweepStore(other->get()).EndFinished({id}), IsEmpty());  // One is not committed.
    return absl::OkStatus();
  }),
              IsOk());
  EXPECT_THAT(*store_->EndFinished({id}), ElementsAre(id));
}

// A transaction that replaces a trial holds the sweep; the end waits for it and then sees the new one.
TEST_F(SweepMovesTest, TheEndWaitsForATransactionThatAddsTrials) {
  const int64_t id = Create(QuadraticPlan("s", {1}, 1));
  Sql(EndTrials("true"));
  auto other = Database::Connect(options_);
  ASSERT_THAT(other, IsOk());
  std::thread ending;
  std::atomic<bool> over = false;
  std::vector<int64_t> ended = {-1};
  ASSERT_THAT((*other)->Transaction([&](pqxx::work& work) {
    work.exec_params("SELECT FROM sweeps WHERE id = $1 FOR KEY SHARE", id);
    ending = std::thread([&] {
      ended = *store_->EndFinished({id});
      over = true;
    });
    // Until it waits for our lock.
    while (!over &&
           Number("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity"
                  " WHERE query LIKE '%FOR UPDATE' AND wait_event_type = 'Lock')") == 0) {
    }
    work.exec(
        "INSERT INTO trials (study_id, strand_id, number, position, training_seed, parameters)"
        " SELECT study_id, strand_id, 2, 1, 0, parameters FROM trials");
    work.exec("UPDATE strands SET created = 2, queued = 1");
    return absl::OkStatus();
  }),
              IsOk());
  ending.join();
  EXPECT_THAT(ended, IsEmpty());
  EXPECT_EQ(store_->Find("s")->state, SweepState::kActive);
}

TEST_F(SweepMovesTest, StatesAreThoseOfTheSweepsAsked) {
  const int64_t a = Create(QuadraticPlan("a", {1}, 1));
  const int64_t b = Create(QuadraticPlan("b", {1}, 1));
  Create(QuadraticPlan("c", {1}, 1));
  ASSERT_THAT(store_->Cancel("b"), IsOk());
  EXPECT_THAT(*store_->States({a, b, 999}), ElementsAre(Pair(a, SweepState::kActive), Pair(b, SweepState::kCancelled)));
}

}  // namespace
}  // namespace stepcurve
