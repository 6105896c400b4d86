// SPDX-License-Identifier: Apache-2.0
#include "server/store/claim_store.h"

#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class ClaimStoreTest : public FleetTest {
 protected:
  // Claims of several workers in one call.
  ClaimStore::Result ClaimAll(const std::vector<ClaimStore::Request>& requests) {
    const auto result = claims_->Claim(requests);
    EXPECT_THAT(result, IsOk());
    return result.value_or(ClaimStore::Result{});
  }
  std::vector<int64_t> Numbers(const std::vector<Grant>& grants) {
    std::vector<int64_t> numbers;
    for (const Grant& grant : grants) {
      numbers.push_back(grant.number);
    }
    return numbers;
  }
  std::map<int64_t, int> BySweep(const std::vector<Grant>& grants) {
    std::map<int64_t, int> counts;
    for (const Grant& grant : grants) {
      ++counts[grant.sweep];
    }
    return counts;
  }
};

TEST_F(ClaimStoreTest, GrantsATrialWithAllThatTrainingItTakes) {
  const int64_t sweep = Create("s", 3);
  const TestWorker worker = Register("a");
  const Grant grant = ClaimOne(worker);
  EXPECT_EQ(grant.session, worker.session.session);
  EXPECT_EQ(grant.sweep, sweep);
  EXPECT_EQ(grant.attempt, 1);
  EXPECT_EQ(grant.number, 1);
  EXPECT_EQ(grant.persisted_step, -1);
  EXPECT_EQ(
      Value("SELECT id, study_id, strand_id, training_seed FROM trials WHERE number = 1"),
      absl::StrCat(grant.trial, "|", grant.study, "|", grant.strand, "|", static_cast<int64_t>(grant.training_seed)));
  ASSERT_THAT(grant.parameters, SizeIs(1));
  EXPECT_EQ(Value(absl::StrFormat("SELECT parameters = ARRAY[%.17g::float8] FROM trials WHERE number = 1",
                                  grant.parameters[0])),
            "t");
  EXPECT_EQ(
      Value("SELECT state, attempt, session_id, worker_name, grant_time IS NOT NULL FROM trials WHERE number = 1"),
      absl::StrCat("running|1|", worker.session.session, "|a|t"));
}

TEST_F(ClaimStoreTest, HandsNumbersOutInOrderAndEachOnce) {
  Create("s", 7);
  const TestWorker worker = Register("a");
  EXPECT_THAT(Numbers(Claim(worker, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Numbers(Claim(worker, 3)), ElementsAre(4, 5, 6));
  EXPECT_THAT(Numbers(Claim(worker, 3)), ElementsAre(7));
  EXPECT_THAT(Claim(worker, 3), IsEmpty());
}

TEST_F(ClaimStoreTest, WhatCameBackGoesFirst) {
  Create("s", 9);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 3);
  Flush({EndOf(grants[1], Released{}, -1)});
  const std::vector<Grant> next = Claim(worker, 2);
  EXPECT_THAT(Numbers(next), UnorderedElementsAre(2, 4));
  EXPECT_EQ(next[0].attempt + next[1].attempt, 3);
}

TEST_F(ClaimStoreTest, ACrashedTrialAvoidsItsSessionWhileAnotherLives) {
  Create("s", 2);
  const TestWorker first = Register("a");
  const TestWorker second = Register("b");
  const Grant grant = ClaimOne(first);
  Flush({EndOf(grant, Failure{.message = "it broke"}, -1)});
  EXPECT_THAT(Numbers(Claim(first, 2)), ElementsAre(2));
  EXPECT_THAT(Numbers(Claim(second, 2)), ElementsAre(1));
}

TEST_F(ClaimStoreTest, ACrashedTrialGoesToTheOtherSessionOfTheSameClaim) {
  Create("s", 2);
  const TestWorker first = Register("a");
  const TestWorker second = Register("b");
  const Grant grant = ClaimOne(first);
  Flush({EndOf(grant, Failure{.message = "it broke"}, -1)});
  for (const Grant& next : ClaimAll({Wants(first, 1), Wants(second, 1)}).grants) {
    EXPECT_EQ(next.session, next.number == 1 ? second.session.session : first.session.session);
  }
}

TEST_F(ClaimStoreTest, ALonelySessionGetsItsCrashedTrialAgain) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  Flush({EndOf(ClaimOne(worker), Failure{.message = "it broke"}, -1)});
  EXPECT_EQ(ClaimOne(worker).attempt, 2);
}

TEST_F(ClaimStoreTest, ACrashedTrialDoesNotAvoidForEver) {
  Create("s", 1);
  const TestWorker worker = Register("a");
  Register("idle");
  Flush({EndOf(ClaimOne(worker), Failure{.message = "it broke"}, -1)});
  EXPECT_THAT(Claim(worker, 1), IsEmpty());
  Sql("UPDATE requeued SET at = now() - interval '31 seconds'");
  EXPECT_THAT(Claim(worker, 1), SizeIs(1));
}

TEST_F(ClaimStoreTest, AnOldStreamIsGrantedNothing) {
  Create("s", 4);
  const TestWorker old = Register("a");
  const TestWorker current = Register("a");
  const ClaimStore::Result result = ClaimAll({Wants(old, 2)});
  EXPECT_THAT(result.grants, IsEmpty());
  EXPECT_THAT(result.gone, ElementsAre(old.session.session));
  EXPECT_THAT(Claim(current, 2), SizeIs(2));
}

TEST_F(ClaimStoreTest, AnEndedSessionIsGrantedNothingAndOthersAreServed) {
  Create("s", 4);
  const TestWorker ended = Register("a");
  const TestWorker alive = Register("b");
  ASSERT_THAT(sessions_->End(ended.session.session, "gone"), IsOk());
  const ClaimStore::Result result = ClaimAll({Wants(ended, 2), Wants(alive, 2)});
  EXPECT_THAT(result.gone, ElementsAre(ended.session.session));
  EXPECT_THAT(result.grants, SizeIs(2));
  for (const Grant& grant : result.grants) {
    EXPECT_EQ(grant.session, alive.session.session);
  }
}

TEST_F(ClaimStoreTest, PausedAndCancelledSweepsGrantNothing) {
  Create("paused", 4);
  Create("cancelled", 4);
  const TestWorker worker = Register("a");
  ASSERT_THAT(sweeps_->Pause("paused"), IsOk());
  ASSERT_THAT(sweeps_->Cancel("cancelled"), IsOk());
  EXPECT_THAT(Claim(worker, 4), IsEmpty());
  ASSERT_THAT(sweeps_->Resume("paused"), IsOk());
  EXPECT_THAT(Claim(worker, 4), SizeIs(4));
}

TEST_F(ClaimStoreTest, WorksOnlyForTheSweepsItNamed) {
  Create("a", 4);
  const int64_t mine = Create("b", 4);
  TestWorker worker = Register("w");
  worker.session.sweeps = {mine};
  const std::vector<Grant> grants = Claim(worker, 8);
  EXPECT_THAT(BySweep(grants), ElementsAre(testing::Pair(mine, 4)));
}

TEST_F(ClaimStoreTest, AWorkerIsOfferedOnlyWhatItCanRun) {
  Create(QuadraticPlan("sgd", {8}, 2, "sgd"));
  Create(QuadraticPlan("momentum", {8}, 2, "momentum"));
  SweepPlan cuda = QuadraticPlan("cuda", {8}, 2);
  cuda.studies[0].definition.needs.device = "cuda";
  Create(cuda);
  HelloRequest hello = HelloOf("a");
  hello.can_run.optimizers = {"sgd"};
  const TestWorker cpu = Register(hello);
  EXPECT_THAT(Claim(cpu, 9), SizeIs(2));
  hello = HelloOf("b");
  hello.can_run.models.clear();
  EXPECT_THAT(Claim(Register(hello), 9), IsEmpty());
  hello = HelloOf("c");
  hello.slot_classes = {{.device = "cpu"}, {.device = "cuda"}};
  const TestWorker both = Register(hello);
  const ClaimStore::Result result = ClaimAll(
      {{.session = &both.session, .demands = {{.slot_class = 0, .wanted = 9}, {.slot_class = 1, .wanted = 9}}}});
  EXPECT_THAT(result.grants, SizeIs(4));
  for (const Grant& grant : result.grants) {
    EXPECT_TRUE(grant.slot_class == 1 ||
                Value(absl::StrCat("SELECT name FROM sweeps WHERE id = ", grant.sweep)) != "cuda");
  }
  EXPECT_EQ(Number("SELECT sum(crashes + losses) FROM trials"), 0);
}

TEST_F(ClaimStoreTest, ACapHoldsWhileAHundredWorkersAsk) {
  SweepPlan plan = QuadraticPlan("capped", {8, 16}, 100);
  plan.max_running = 7;
  Create(plan);
  std::vector<TestWorker> workers;
  std::vector<ClaimStore::Request> requests;
  for (int i = 0; i < 100; ++i) {
    workers.push_back(Register(absl::StrCat("w", i)));
  }
  for (const TestWorker& worker : workers) {
    requests.push_back(Wants(worker, 4));
  }
  const std::vector<Grant> grants = ClaimAll(requests).grants;
  EXPECT_THAT(grants, SizeIs(7));
  EXPECT_THAT(ClaimAll(requests).grants, IsEmpty());
  Flush({WholeOf(grants[0]), EndOf(grants[1], Released{}, -1), EndOf(grants[2], Failure{}, -1)});
  EXPECT_THAT(ClaimAll(requests).grants, SizeIs(3));
}

TEST_F(ClaimStoreTest, WorkersOfAFinishedSweepRunNothing) {
  const int64_t sweep = Create("s", 2);
  const TestWorker worker = Register("a");
  std::vector<AttemptEvents> ends;
  for (const Grant& grant : Claim(worker, 2)) {
    ends.push_back(WholeOf(grant));
  }
  EXPECT_THAT(Flush(ends).sweeps_to_check, ElementsAre(sweep));
  EXPECT_THAT(*sweeps_->EndFinished({sweep}), ElementsAre(sweep));
  EXPECT_THAT(Claim(worker, 2), IsEmpty());
  EXPECT_THAT(Claim(Register("b"), 2), IsEmpty());
}

TEST_F(ClaimStoreTest, BatchSizesFillEvenlyAndSweepsShareFairly) {
  const int64_t wide = Create(QuadraticPlan("wide", {1, 2, 4, 8}, 100));
  const int64_t narrow = Create(QuadraticPlan("narrow", {1}, 100));
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 40);
  EXPECT_EQ(BySweep(grants), (std::map<int64_t, int>{{wide, 20}, {narrow, 20}}));
  EXPECT_THAT(
      Sql(absl::StrCat("SELECT s.grants FROM strands s JOIN studies y ON y.id = s.study_id WHERE y.sweep_id = ", wide)),
      ElementsAre("5", "5", "5", "5"));
}

TEST_F(ClaimStoreTest, PriorityGoesBeforeFairness) {
  const int64_t low = Create("low", 3);
  SweepPlan plan = QuadraticPlan("high", {8}, 3);
  plan.priority = 5;
  const int64_t high = Create(plan);
  const TestWorker worker = Register("a");
  EXPECT_EQ(BySweep(Claim(worker, 3)), (std::map<int64_t, int>{{high, 3}}));
  EXPECT_EQ(BySweep(Claim(worker, 3)), (std::map<int64_t, int>{{low, 3}}));
}

TEST_F(ClaimStoreTest, ADrainedSessionIsGrantedNothing) {
  Create("s", 9);
  const TestWorker broken = Register("a");
  Register("b");
  for (int failure = 1; failure <= 5; ++failure) {
    const FlushStore::Result result = Flush(
        {EndOf(ClaimOne(broken), Failure{.by_worker = true, .before_first_step = true, .message = "no driver"}, -1)});
    EXPECT_THAT(result.drained_sessions, SizeIs(failure == 5 ? 1 : 0));
  }
  EXPECT_THAT(Claim(broken, 2), IsEmpty());
  EXPECT_EQ(Number("SELECT sum(crashes + losses) FROM trials"), 0);
}

TEST_F(ClaimStoreTest, OnlyFailuresInARowDrain) {
  Create("s", 20);
  const TestWorker worker = Register("a");
  for (int round = 0; round < 12; ++round) {
    const Grant grant = ClaimOne(worker);
    Flush({round % 4 == 3 ? PointsOf(grant, {0})
                          : EndOf(grant, Failure{.by_worker = true, .before_first_step = true}, -1)});
  }
  EXPECT_EQ(Value("SELECT early_failures, draining FROM sessions"), "0|f");
}

TEST_F(ClaimStoreTest, TellsWhatASessionHoldsAfterALostAnswer) {
  Create("s", 6);
  const TestWorker worker = Register("a");
  const std::vector<Grant> grants = Claim(worker, 3);
  Flush({WholeOf(grants[0]), EndOf(grants[1], Released{}, -1)});
  const Grant again = ClaimOne(worker);
  EXPECT_EQ(again.trial, grants[1].trial);
  const auto held = claims_->HeldBy(worker.session.session);
  ASSERT_THAT(held, IsOk());
  ASSERT_THAT(*held, SizeIs(2));
  EXPECT_EQ((*held)[0].trial, again.trial);
  EXPECT_EQ((*held)[0].attempt, 2);
  EXPECT_EQ((*held)[0].parameters, again.parameters);
  EXPECT_EQ((*held)[1].trial, grants[2].trial);
}

TEST_F(ClaimStoreTest, KnowsDefinitionsAndNamesAStudyThatIsNotThere) {
  Create("s", 1);
  const Grant grant = ClaimOne(Register("a"));
  const auto definition = claims_->Definition(grant.study);
  ASSERT_THAT(definition, IsOk());
  EXPECT_EQ((*definition)->budget_steps, 100);
  ClaimStore fresh(database_.get());
  EXPECT_EQ(**fresh.Definition(grant.study), **definition);
  EXPECT_THAT(claims_->Definition(4711), Fails(absl::StatusCode::kNotFound, "4711"));
}

// Sixty-four connections on ten thousand rows: no id twice, none left.
TEST_F(ClaimStoreTest, ManyConnectionsGrantEveryTrialOnce) {
  constexpr int kThreads = 64;
  Create(QuadraticPlan("s", {1, 2, 4, 8, 16}, 2000));
  std::vector<TestWorker> workers;
  for (int i = 0; i < kThreads; ++i) {
    workers.push_back(Register(absl::StrCat("w", i)));
  }
  options_.connections = kThreads;
  auto many = Database::Connect(options_);
  ASSERT_THAT(many, IsOk());
  std::vector<std::vector<int64_t>> trials(kThreads);
  std::vector<absl::Status> failures(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ClaimStore claims(many->get());
      for (;;) {
        const auto result = claims.Claim({Wants(workers[i], 20)});
        if (!result.ok()) {
          failures[i] = result.status();
          return;
        }
        if (result->grants.empty()) {
          return;
        }
        for (const Grant& grant : result->grants) {
          trials[i].push_back(grant.trial);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::multiset<int64_t> all;
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_THAT(failures[i], IsOk());
    all.insert(trials[i].begin(), trials[i].end());
  }
  EXPECT_EQ(all.size(), 10'000u);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 10'000u);
  EXPECT_EQ(Number("SELECT max(attempt) FROM trials"), 1);
}

}  // namespace
}  // namespace stepcurve
