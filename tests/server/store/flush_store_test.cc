// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_store.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class FlushStoreTest : public FleetTest {
 protected:
  std::string Trial(const Grant& grant, const std::string& columns) {
    return Value(absl::StrCat("SELECT ", columns, " FROM trials WHERE id = ", grant.trial));
  }
  std::string Records(const Grant& grant) {
    return Value(absl::StrCat("SELECT offsets, steps, \"values\" FROM records WHERE trial_id = ", grant.trial));
  }
};

// Points of one trial with these values of its first metric; the second is 1 throughout.
AttemptEvents Values(const Grant& grant, std::vector<int64_t> steps, std::vector<double> values) {
  AttemptEvents events = StartOf(grant);
  events.values = std::move(values);
  events.values.resize(2 * steps.size(), 1);
  events.steps = std::move(steps);
  return events;
}

TEST_F(FlushStoreTest, StoresPointsAndAnswersWithWhatIsDurable) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  EXPECT_EQ(FlushOne(StartOf(grant)).persisted_step, -1);
  EXPECT_EQ(Trial(grant, "state, base_step, last_step"), "running|-1|-1");
  const Standing standing = FlushOne(PointsOf(grant, {0, 10}));
  EXPECT_EQ(standing.verdict, Verdict::kHeld);
  EXPECT_EQ(standing.persisted_step, 10);
  EXPECT_EQ(Trial(grant, "last_step, train_seconds, eval_seconds"), "10|2|1");
  EXPECT_EQ(Value("SELECT attempt, first_step, last_step, train_seconds, eval_seconds, steps, \"values\" FROM chunks"),
            "1|0|10|2|1|{0,10}|{1,0.09090909090909091,10,0.9090909090909091}");
}

TEST_F(FlushStoreTest, EveryDoubleIsStoredBitForBit) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(Values(grant, {0, 1, 2, 3, 4, 5}, {kNaN, kInf, -kInf, -0.0, 5e-324, 0.1}));
  EXPECT_EQ(Value("SELECT \"values\"[1:6] FROM chunks"), "{NaN,Infinity,-Infinity,-0,5e-324,0.1}");
}

TEST_F(FlushStoreTest, AResentBatchStoresEachPointOnce) {
  Create("s", 3);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 3);
  const std::vector<AttemptEvents> batch = {PointsOf(grants[0], {0, 10, 20}), WholeOf(grants[1]),
                                            EndOf(grants[2], Released{}, 10, {0, 10})};
  Flush(batch);
  const FlushStore::Result again = Flush(batch);
  EXPECT_EQ(again.standings[0].verdict, Verdict::kHeld);
  EXPECT_EQ(again.standings[0].persisted_step, 20);
  EXPECT_EQ(again.standings[1].verdict, Verdict::kEnded);
  EXPECT_EQ(again.standings[1].state, TrialState::kComplete);
  EXPECT_EQ(again.standings[2].verdict, Verdict::kLost);
  EXPECT_EQ(Number("SELECT sum(cardinality(steps)) FROM chunks"), 8);
  EXPECT_EQ(Number("SELECT count(*) FROM past_attempts"), 2);
}

TEST_F(FlushStoreTest, AnOverlappingResendIsTrimmed) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(PointsOf(grant, {0, 10, 20}));
  EXPECT_EQ(FlushOne(PointsOf(grant, {10, 20, 30, 40})).persisted_step, 40);
  EXPECT_THAT(Sql("SELECT steps, \"values\"[2] = 1 / 41.0::float8 FROM chunks ORDER BY first_step"),
              ElementsAre("{0,10,20}|f", "{30,40}|t"));
}

TEST_F(FlushStoreTest, LongReportsAreCutIntoBoundedChunks) {
  SweepPlan plan = QuadraticPlan("s", {8}, 1);
  plan.studies[0].definition.budget_steps = 5000;
  Create(plan);
  const Grant grant = ClaimOne(Register("a"));
  std::vector<int64_t> steps;
  for (int64_t step = 0; step <= 5000; ++step) {
    steps.push_back(step);
  }
  FlushOne(EndOf(grant, Complete{}, 5000, steps));
  EXPECT_EQ(Value("SELECT sum(cardinality(steps)), count(*) > 4, max(cardinality(steps)) <= 1024 FROM chunks"),
            "5001|t|t");
  EXPECT_EQ(
      Number("SELECT count(*) FROM measurements WHERE value = 10.0::float8 / (step + 1) AND metric = 'test/loss'"),
      5001);
}

TEST_F(FlushStoreTest, ACompleteTrialHasItsRecordsAttemptAndVersion) {
  const int64_t sweep = Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(Values(grant, {0, 10}, {3, 5}));
  AttemptEvents last = Values(grant, {50, 100}, {2, 9});
  last.ending = Ending{.last_step = 100, .outcome = Complete{}, .log_tail = "all well"};
  const FlushStore::Result result = Flush({last});
  EXPECT_EQ(result.standings[0].verdict, Verdict::kEnded);
  EXPECT_EQ(result.standings[0].state, TrialState::kComplete);
  EXPECT_THAT(result.sweeps_to_check, ElementsAre(sweep));
  EXPECT_EQ(Trial(grant, "state, end_reason, end_time IS NOT NULL, session_id, worker_name, error"),
            "complete|budget|t||a|");
  EXPECT_EQ(Records(grant), "{0,2,5,6,7}|{0,50,0,10,100,0,0}|{3,2,3,5,9,1,1}");
  EXPECT_EQ(Value("SELECT attempt, base_step, last_step, outcome, error, convert_from(log_tail, 'UTF8'),"
                  " start_time = (SELECT grant_time FROM trials) FROM past_attempts"),
            "1|-1|100|complete||all well|t");
  EXPECT_EQ(Number("SELECT results_version FROM studies"), 1);
}

TEST_F(FlushStoreTest, RecordsAreTheSameFromMemoryAndFromChunks) {
  Create("s", 2);
  const TestWorker worker = Register("a");
  std::vector<Grant> grants = Claim(worker, 2);
  for (const Grant& grant : grants) {
    FlushOne(Values(grant, {0, 10}, {3, kNaN}));
    FlushOne(Values(grant, {20, 30}, {2, 7}));
  }
  FlushOne(EndOf(grants[0], Complete{}, 100, {100}));
  flush_ = OpenFlush();  // Another server, or this one after a restart.
  FlushOne(EndOf(grants[1], Complete{}, 100, {100}));
  EXPECT_EQ(Records(grants[0]), Records(grants[1]));
  EXPECT_THAT(Records(grants[0]), HasSubstr("{0,3,5,"));
}

TEST_F(FlushStoreTest, RecordsHoldWhatAnotherServerStoredInBetween) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(Values(grant, {0}, {3}));
  EXPECT_THAT(OpenFlush()->Flush({Values(grant, {50}, {1})}), IsOk());
  FlushOne(EndOf(grant, Complete{}, 100, {100}));
  EXPECT_THAT(Records(grant), HasSubstr("{0,3,4,6,7}|{0,50,100,"));
}

TEST_F(FlushStoreTest, RecordsAreOfTheAttemptThatCounts) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  const Grant first = ClaimOne(worker);
  FlushOne(Values(first, {0, 10}, {0.001, 99}));
  FlushOne(EndOf(first, Released{}, 10));
  const Grant second = ClaimOne(worker);
  FlushOne(Values(second, {0, 100}, {3, 2}));
  FlushOne(EndOf(second, Complete{}, 100));
  EXPECT_EQ(Records(second), "{0,2,3,4,5}|{0,100,0,0,0}|{3,2,3,1,1}");
  EXPECT_EQ(Number("SELECT count(*) FROM measurements WHERE superseded"), 4);
}

// M2: one NaN among many changes nothing of the others.
TEST_F(FlushStoreTest, ANonFiniteMetricIsDataAndNoRecord) {
  Create("s", 20);
  const std::vector<Grant> grants = Claim(Register("a"), 20);
  std::vector<AttemptEvents> batch;
  for (const Grant& grant : grants) {
    batch.push_back(Values(grant, {0, 50, 100}, {3, grant.number == 7 ? kNaN : 2, 1}));
    batch.back().ending = Ending{.last_step = 100, .outcome = Complete{}};
  }
  Flush(batch);
  EXPECT_THAT(Sql("SELECT DISTINCT t.number = 7, t.state, r.steps[r.offsets[1] + 1 : r.offsets[2]] FROM trials t"
                  " JOIN records r ON r.trial_id = t.id ORDER BY 1"),
              ElementsAre("f|complete|{0,50,100}", "t|complete|{0,100}"));
}

// M4: the very first metric is NaN, and all of the others too.
TEST_F(FlushStoreTest, ATrialWithoutAFiniteValueCompletes) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  AttemptEvents events = Values(grant, {0, 100}, {kNaN, kNaN, kNaN, kNaN});
  events.ending = Ending{.last_step = 100, .outcome = Complete{}};
  EXPECT_EQ(FlushOne(events).state, TrialState::kComplete);
  EXPECT_EQ(Records(grant), "{0,0,0,0,0}|{}|{}");
}

// M5: each outcome under its own label.
TEST_F(FlushStoreTest, EachOutcomeIsCountedUnderItsLabel) {
  SweepPlan plan = QuadraticPlan("s", {8}, 6);
  plan.studies[0].definition.top_up = false;
  Create(plan);
  const std::vector<Grant> grants = Claim(Register("a"), 5);
  Flush({WholeOf(grants[0]), EndOf(grants[1], Diverged{.step = 60, .reason = "loss is nan"}, 50, {0, 50}),
         EndOf(grants[2], Complete{}, 50, {50}), EndOf(grants[3], Released{}, -1), StartOf(grants[4])});
  EXPECT_EQ(Value("SELECT queued, running, complete, infeasible, stopped, failed, cancelled FROM strands"),
            "2|1|1|1|0|1|0");
  EXPECT_EQ(Trial(grants[1], "state, end_reason, end_step, error"), "infeasible|diverged|60|loss is nan");
  EXPECT_EQ(Trial(grants[2], "state, end_reason, error"), "failed|error|reported complete at step 50 of 100");
  EXPECT_EQ(Number("SELECT results_version FROM studies"), 3);
}

// M8
TEST_F(FlushStoreTest, AFinishThatOvertakesTheLastReportWaitsForIt) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(PointsOf(grant, {0, 50}));
  const Standing early = FlushOne(EndOf(grant, Complete{}, 100));
  EXPECT_EQ(early.verdict, Verdict::kHeld);
  EXPECT_EQ(early.persisted_step, 50);
  EXPECT_EQ(State(grant.trial), "running");
  EXPECT_EQ(FlushOne(EndOf(grant, Complete{}, 100, {100})).verdict, Verdict::kEnded);
  EXPECT_EQ(State(grant.trial), "complete");
}
TEST_F(FlushStoreTest, AFinishWithNoReportAtAllIsAFailure) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  AttemptEvents events = EventsOf(grant);
  events.ending = Ending{.last_step = -1, .outcome = Complete{}};
  EXPECT_EQ(FlushOne(events).state, TrialState::kFailed);
  EXPECT_EQ(Trial(grant, "state, error"), "failed|reported complete at step -1 of 100");
}

// L5: whatever attempt 1 still sends, attempt 2 is untouched.
TEST_F(FlushStoreTest, AnEarlierAttemptChangesNothing) {
  Create("s", 1);
  const TestWorker frozen = Register("a");
  const Grant first = ClaimOne(frozen);
  FlushOne(PointsOf(first, {0, 10}));
  Expire(frozen);
  Reap();
  const Grant second = ClaimOne(Register("b"));
  FlushOne(PointsOf(second, {0}));
  const std::string before = Trial(second, "*");
  for (const AttemptEvents& late :
       {PointsOf(first, {20, 30}), WholeOf(first), EndOf(first, Diverged{.step = 40}, 30, {30}),
        EndOf(first, Failure{.message = "late"}, 10), EndOf(first, Released{}, 10), StartOf(first)}) {
    EXPECT_EQ(FlushOne(late).verdict, Verdict::kLost);
  }
  EXPECT_EQ(Trial(second, "*"), before);
  EXPECT_EQ(Number("SELECT sum(cardinality(steps)) FROM chunks WHERE attempt = 1"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM past_attempts"), 1);
}

// L11
TEST_F(FlushStoreTest, ATrialThatAlwaysCrashesFailsAtTheCapWithItsLastError) {
  const int64_t sweep = Create("s", 1);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const Grant grant = ClaimOne(Register(absl::StrCat("w", attempt)));
    const FlushStore::Result result =
        Flush({EndOf(grant, Failure{.message = absl::StrCat("crash ", attempt)}, 10, {0, 10})});
    EXPECT_THAT(result.sweeps_to_check, attempt == 3 ? std::vector<int64_t>{sweep} : std::vector<int64_t>{});
  }
  EXPECT_EQ(Value("SELECT state, end_reason, crashes, attempt, error FROM trials"), "failed|error|3|3|crash 3");
  EXPECT_THAT(Sql("SELECT outcome, error FROM past_attempts ORDER BY attempt"),
              ElementsAre("error|crash 1", "error|crash 2", "error|crash 3"));
}
TEST_F(FlushStoreTest, TenDrainsDoNotCount) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  for (int drain = 0; drain < 10; ++drain) {
    FlushOne(EndOf(ClaimOne(worker), Released{}, 10, {0, 10}));
  }
  EXPECT_EQ(Value("SELECT state, crashes, losses, attempt FROM trials"), "queued|0|0|10");
  EXPECT_EQ(FlushOne(WholeOf(ClaimOne(worker))).state, TrialState::kComplete);
}
TEST_F(FlushStoreTest, ACrashBeforeAnythingKeepsWhatAnEarlierAttemptStored) {
  caps_.crashes = 1;
  flush_ = OpenFlush();
  Create("s", 1);
  const TestWorker worker = Register("a");
  FlushOne(EndOf(ClaimOne(worker), Released{}, 10, {0, 10}));
  const Grant second = ClaimOne(worker);
  AttemptEvents crash = EventsOf(second);
  crash.ending = Ending{.last_step = -1, .outcome = Failure{.message = "no start"}};
  EXPECT_EQ(FlushOne(crash).state, TrialState::kFailed);
  EXPECT_THAT(Records(second), HasSubstr("{0,2,3,5,6}|{0,10,0,0,10,0}"));
}

TEST_F(FlushStoreTest, LogsAreCutToTheirLastSixteenKilobytes) {
  Create("s", 1);
  AttemptEvents events = WholeOf(ClaimOne(Register("a")));
  events.ending->log_tail = std::string(20'000, 'x') + "the end";
  FlushOne(events);
  EXPECT_EQ(Value("SELECT length(log_tail), convert_from(substr(log_tail, 16378), 'UTF8') FROM past_attempts"),
            "16384|the end");
}

// L13: the caller halves such a batch, and finds the culprit.
TEST_F(FlushStoreTest, ABadEventFailsItsBatchWithACodeThatSaysSo) {
  Create("s", 3);
  const std::vector<Grant> grants = Claim(Register("a"), 3);
  const std::vector<AttemptEvents> good = {PointsOf(grants[0], {0}), PointsOf(grants[1], {0})};
  std::vector<AttemptEvents> batch = good;
  batch.push_back(EndOf(grants[2], Failure{.message = "\xff\xfe is not UTF-8"}, -1));
  EXPECT_THAT(flush_->Flush(batch), HasCode(absl::StatusCode::kInvalidArgument));
  batch.back() = EndOf(grants[2], Failure{.message = std::string("a zero \0 byte", 13)}, -1);
  EXPECT_THAT(flush_->Flush(batch), HasCode(absl::StatusCode::kInvalidArgument));
  batch.back() = PointsOf(grants[2], {101});
  EXPECT_THAT(flush_->Flush(batch), Fails(absl::StatusCode::kInvalidArgument, absl::StrCat("trial ", grants[2].trial)));
  EXPECT_EQ(Number("SELECT count(*) FROM chunks"), 0) << "nothing of a failed batch is stored";
  EXPECT_THAT(flush_->Flush(good), IsOk());
  EXPECT_EQ(Number("SELECT count(*) FROM chunks"), 2);
}

TEST_F(FlushStoreTest, AnInfeasibleTrialIsReplacedByTheNextPoint) {
  const int64_t sweep = Create("s", 2);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 2);
  const FlushStore::Result result =
      Flush({EndOf(grants[0], Diverged{.step = 1}, 0, {0}), EndOf(grants[1], Diverged{.step = 1}, 0, {0})});
  EXPECT_THAT(result.sweeps_to_check, IsEmpty());
  EXPECT_THAT(Sql("SELECT number, position, state FROM trials ORDER BY number"),
              ElementsAre("1|0|infeasible", "2|1|infeasible", "3|2|queued", "4|3|queued"));
  // The points are those that a larger sweep would have had.
  Create("larger", 4);
  EXPECT_EQ(Number("SELECT count(DISTINCT (number, parameters, coordinates, repeat)) FROM trials"), 4);
  const std::vector<Grant> more = Claim(worker, 4);
  std::vector<AttemptEvents> ends;
  for (const Grant& grant : more) {
    if (grant.sweep == sweep) {
      ends.push_back(EndOf(grant, Diverged{.step = 1}, 0, {0}));
    }
  }
  while (ends.size() < 2) {
    ends.push_back(EndOf(ClaimOne(worker), Diverged{.step = 1}, 0, {0}));
  }
  Flush(ends);
  EXPECT_EQ(Number(absl::StrCat("SELECT created FROM strands s JOIN studies y ON y.id = s.study_id WHERE y.sweep_id = ",
                                sweep)),
            4)
      << "twice the wanted number is the cap";
}

TEST_F(FlushStoreTest, APausedSweepIsToppedUpAndACancelledOneIsNot) {
  Create("paused", 1);
  Create("cancelled", 1);
  const std::vector<Grant> grants = Claim(Register("a"), 2);
  ASSERT_THAT(sweeps_->Pause("paused"), IsOk());
  ASSERT_THAT(sweeps_->Cancel("cancelled"), IsOk());
  Flush({EndOf(grants[0], Diverged{.step = 1}, 0, {0}), EndOf(grants[1], Diverged{.step = 1}, 0, {0})});
  EXPECT_THAT(Sql("SELECT w.name, s.created FROM sweeps w JOIN studies y ON y.sweep_id = w.id"
                  " JOIN strands s ON s.study_id = y.id ORDER BY 1"),
              ElementsAre("cancelled|1", "paused|2"));
}

TEST_F(FlushStoreTest, NumbersOfReplacementsCountThroughAStudysStrands) {
  SweepPlan plan = QuadraticPlan("s", {8}, 2);
  StudyPlan& study = plan.studies[0];
  study.definition.space.push_back({.name = "momentum", .kind = ValuesEntry{{0.5, 0.9}}});
  study.definition.split = "momentum";
  study.strands = {{.split_value = 0.5, .wanted = 2, .max_trials = 4, .initial = 2},
                   {.split_value = 0.9, .wanted = 2, .max_trials = 4, .initial = 2}};
  Create(plan);
  std::vector<AttemptEvents> ends;
  for (const Grant& grant : Claim(Register("a"), 4)) {
    ends.push_back(EndOf(grant, Diverged{.step = 1}, 0, {0}));
  }
  Flush(ends);
  EXPECT_EQ(Value("SELECT count(*), count(DISTINCT number), max(number) FROM trials"), "8|8|8");
  EXPECT_THAT(Sql("SELECT DISTINCT strand_id - (SELECT min(id) FROM strands), parameters[2] FROM trials ORDER BY 1"),
              ElementsAre("0|0.5", "1|0.9"));
}

TEST_F(FlushStoreTest, AnAttemptThatMovedToAnotherSessionIsStillWritten) {
  Create("s", 1);
  const TestWorker old = Register("a");
  const Grant grant = ClaimOne(old);
  HelloRequest hello = HelloOf("b");
  hello.replaces = old.key;
  hello.held = {{grant.trial, grant.attempt}};
  Register(hello);
  // From the old stream's queue: a prefix of what the new one will send.
  EXPECT_EQ(FlushOne(PointsOf(grant, {0, 10})).persisted_step, 10);
}

TEST_F(FlushStoreTest, ReconnectsByItself) {
  options_.conninfo += " application_name=" + options_.schema;  // Nobody else's backend.
  flush_ = OpenFlush();
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  FlushOne(PointsOf(grant, {0}));
  ASSERT_EQ(
      Number(absl::StrCat("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '",
                          options_.schema, "' AND pid <> pg_backend_pid()")),
      1);
  EXPECT_THAT(flush_->Flush({PointsOf(grant, {10})}), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_EQ(FlushOne(PointsOf(grant, {10})).persisted_step, 10);
}

TEST_F(FlushStoreTest, AnAddressThatDoesNotAnswerIsUnavailable) {
  Database::Options nowhere = options_;
  nowhere.conninfo = "host=/nowhere user=postgres";
  EXPECT_THAT(FlushStore::Open({.database = nowhere}), HasCode(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace stepcurve
