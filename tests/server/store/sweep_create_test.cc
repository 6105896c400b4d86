// SPDX-License-Identifier: Apache-2.0
#include <set>
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SweepCreateTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    store_ = std::make_unique<SweepStore>(database_.get());
  }
  absl::StatusOr<SweepStore::Created> Create(const SweepPlan& plan) { return store_->Create(plan, SourceOf(plan)); }

  std::unique_ptr<SweepStore> store_;
};

TEST_F(SweepCreateTest, WritesEveryStudyStrandAndTrial) {
  SweepPlan plan = QuadraticPlan("first", {1, 8}, 5);
  plan.description = "a \"description\"";
  plan.tags = {"a", "b,c"};
  plan.goals = {"val/loss < 0.1"};
  plan.priority = 3;
  plan.max_running = 7;
  plan.semantics = Semantics::kReached;
  const auto created = Create(plan);
  ASSERT_THAT(created, IsOk());
  EXPECT_TRUE(created->created);
  const SweepRow& sweep = created->sweep;
  EXPECT_EQ(sweep.name, "first");
  EXPECT_EQ(sweep.description, "a \"description\"");
  EXPECT_THAT(sweep.tags, ElementsAre("a", "b,c"));
  EXPECT_THAT(sweep.goals, ElementsAre("val/loss < 0.1"));
  EXPECT_EQ(sweep.priority, 3);
  EXPECT_EQ(sweep.max_running, 7);
  EXPECT_EQ(sweep.semantics, Semantics::kReached);
  EXPECT_EQ(sweep.state, SweepState::kActive);
  EXPECT_EQ(sweep.creator, "tester");
  EXPECT_EQ(sweep.version, 1);
  EXPECT_EQ(sweep.studies, 2);
  EXPECT_EQ(sweep.wanted, 10);
  EXPECT_EQ(sweep.counts[TrialState::kQueued], 10);
  EXPECT_EQ(sweep.counts.total(), 10);
  EXPECT_EQ(*store_->Spec(sweep.id), std::string("spec\0bytes", 10));
  EXPECT_EQ(*store_->Resolved(sweep.id), "resolved: first\n");
  EXPECT_THAT(Sql("SELECT created, granted, queued, wanted, max_trials FROM strands ORDER BY id"),
              ElementsAre("5|0|5|5|10", "5|0|5|5|10"));

  const auto studies = store_->Studies(sweep.id);
  ASSERT_THAT(studies, IsOk());
  ASSERT_EQ(studies->size(), 2);
  EXPECT_EQ((*studies)[0].definition, plan.studies[0].definition);
  EXPECT_EQ((*studies)[1].definition, plan.studies[1].definition);
  EXPECT_EQ((*studies)[1].address, "none/noisy_quadratic/sgd");
  EXPECT_EQ((*studies)[1].counts[TrialState::kQueued], 5);
  EXPECT_EQ((*studies)[1].max_trials, 10);
  EXPECT_EQ((*studies)[1].space_hash, plan.studies[1].space_hash);
}

TEST_F(SweepCreateTest, TrialsAreTheSamplersPoints) {
  const SweepPlan plan = QuadraticPlan("points", {4}, 100);
  ASSERT_THAT(Create(plan), IsOk());
  const StudyDefinition& study = plan.studies[0].definition;
  const std::vector<NewTrial> expected = NewTrials(study, MakeSampler(study, std::nullopt), 0, 100, 1);
  std::vector<std::string> rows;
  for (const NewTrial& trial : expected) {
    rows.push_back(absl::StrCat(trial.number, "|", trial.position, "|", static_cast<int64_t>(trial.training_seed)));
  }
  EXPECT_EQ(Sql("SELECT number, position, training_seed FROM trials ORDER BY id"), rows);
  // shortest-precise text: what PostgreSQL prints reads back as the same double.
  const std::vector<std::string> parameters = Sql("SELECT parameters[1] FROM trials ORDER BY id");
  ASSERT_EQ(parameters.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(std::stod(parameters[i]), expected[i].point.parameters[0]);
  }
}

TEST_F(SweepCreateTest, TrialsStandInHandOutOrder) {
  SweepPlan plan = QuadraticPlan("order", {1, 2, 4}, 2);
  plan.studies[1].strands[0].initial = 4;
  ASSERT_THAT(Create(plan), IsOk());
  EXPECT_THAT(Sql("SELECT s.batch_size, t.position FROM trials t JOIN studies s ON s.id = t.study_id ORDER BY t.id"),
              ElementsAre("1|0", "2|0", "4|0", "1|1", "2|1", "4|1", "2|2", "2|3"));
}

TEST_F(SweepCreateTest, StrandsOfOneStudyShareItsNumbers) {
  SweepPlan plan = QuadraticPlan("split", {1}, 2);
  plan.studies[0].definition.space.push_back({.name = "momentum", .kind = ValuesEntry{{0, 0.9}}});
  plan.studies[0].definition.split = "momentum";
  plan.studies[0].strands = {{.split_value = 0, .wanted = 2, .max_trials = 2, .initial = 2},
                             {.split_value = 0.9, .wanted = 3, .max_trials = 3, .initial = 3}};
  ASSERT_THAT(Create(plan), IsOk());
  EXPECT_THAT(Sql("SELECT d.split_value, t.position, t.number FROM trials t JOIN strands d ON d.id = t.strand_id"
                  " ORDER BY t.number"),
              ElementsAre("0|0|1", "0|1|2", "0.9|0|3", "0.9|1|4", "0.9|2|5"));
}

TEST_F(SweepCreateTest, ManyTrialsPerStrandComeOnce) {
  ASSERT_THAT(Create(QuadraticPlan("many", {1, 2}, 333)), IsOk());
  EXPECT_EQ(Value("SELECT count(*), count(DISTINCT (strand_id, position)), max(position), max(number) FROM trials"),
            "666|666|332|333");
}

TEST_F(SweepCreateTest, CoordinatesAreKeptOnlyWhereSomethingIsMultiplied) {
  SweepPlan plan = QuadraticPlan("times", {1, 8}, 1);
  plan.studies[1].definition.space[0].times = TimesBatchSize{};
  ASSERT_THAT(Create(plan), IsOk());
  EXPECT_THAT(Sql("SELECT coordinates IS NULL FROM trials ORDER BY id"), ElementsAre("t", "f"));
}

TEST_F(SweepCreateTest, TheSameRequestGivesTheSameSweep) {
  const SweepPlan plan = QuadraticPlan("again", {1}, 2);
  const auto first = Create(plan);
  const auto second = Create(plan);
  ASSERT_THAT(second, IsOk());
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->sweep.id, first->sweep.id);
  EXPECT_EQ(Number("SELECT count(*) FROM trials"), 2);
}

TEST_F(SweepCreateTest, AnotherRequestWithTheSameContentGivesTheSameSweep) {
  const SweepPlan plan = QuadraticPlan("again", {1}, 2);
  const auto first = Create(plan);
  const auto second = store_->Create(plan, SourceOf(plan, "another-request"));
  ASSERT_THAT(second, IsOk());
  EXPECT_FALSE(second->created);
  EXPECT_EQ(second->sweep.id, first->sweep.id);
}

TEST_F(SweepCreateTest, TheSameRequestWithAnotherSpecIsRefused) {
  const SweepPlan plan = QuadraticPlan("again", {1}, 2);
  ASSERT_THAT(Create(plan), IsOk());
  SweepPlan other = QuadraticPlan("other", {1}, 3);
  EXPECT_THAT(store_->Create(other, SourceOf(other, "request-again")),
              Fails(absl::StatusCode::kAlreadyExists, "request-again"));
}

TEST_F(SweepCreateTest, ATakenNameWithAnotherContentIsRefused) {
  const SweepPlan plan = QuadraticPlan("again", {1}, 2);
  ASSERT_THAT(Create(plan), IsOk());
  EXPECT_THAT(store_->Create(plan, SourceOf(plan, "another-request", "another-digest")),
              Fails(absl::StatusCode::kAlreadyExists, "\"again\" exists with another content"));
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps"), 1);
}

TEST_F(SweepCreateTest, TwentyAtOnceMakeOne) {
  const SweepPlan plan = QuadraticPlan("twins", {1, 2}, 50);
  std::vector<absl::StatusOr<SweepStore::Created>> results(20);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = Create(plan); });
  }
  int created = 0;
  std::set<int64_t> ids;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i].join();
    ASSERT_THAT(results[i], IsOk());
    created += results[i]->created ? 1 : 0;
    ids.insert(results[i]->sweep.id);
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(ids.size(), 1);
  EXPECT_EQ(Value("SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM trials)"), "1|100");
}

TEST_F(SweepCreateTest, SweepsThatShareNewWorkloadsDoNotDeadlock) {
  std::vector<SweepPlan> plans;
  for (int i = 0; i < 8; ++i) {
    SweepPlan plan = QuadraticPlan(absl::StrCat("sweep-", i), {1}, 2, "sgd");
    const SweepPlan more = QuadraticPlan(plan.name, {1}, 2, "momentum");
    plan.studies.insert(i % 2 == 0 ? plan.studies.end() : plan.studies.begin(), more.studies[0]);
    plans.push_back(plan);
  }
  std::vector<absl::Status> results(plans.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < plans.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = Create(plans[i]).status(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(results, ::testing::Each(IsOk()));
  EXPECT_EQ(Number("SELECT count(*) FROM workloads"), 2);
}

TEST_F(SweepCreateTest, AnAddressMeansOneContent) {
  ASSERT_THAT(Create(QuadraticPlan("first", {1}, 1)), IsOk());
  SweepPlan plan = QuadraticPlan("second", {1}, 1);
  plan.studies[0].definition.workload.options = {{"dim", int64_t{7}}};
  EXPECT_THAT(Create(plan), Fails(absl::StatusCode::kFailedPrecondition, "other options; give this one a variant"));
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps"), 1) << "half of a sweep was left";
  plan.studies[0].definition.workload.variant = "seven";
  EXPECT_THAT(Create(plan), IsOk());
}

TEST_F(SweepCreateTest, AContentHasOneAddress) {
  ASSERT_THAT(Create(QuadraticPlan("first", {1}, 1)), IsOk());
  SweepPlan plan = QuadraticPlan("second", {1}, 1);
  plan.studies[0].definition.workload.variant = "same";
  EXPECT_THAT(Create(plan), Fails(absl::StatusCode::kFailedPrecondition, "exists on this server as"));
}

TEST_F(SweepCreateTest, ANewSweepStartsLevelWithTheActiveOnesOfItsPriority) {
  ASSERT_THAT(Create(QuadraticPlan("old", {1}, 1)), IsOk());
  Sql("UPDATE sweeps SET pass = 600");
  ASSERT_THAT(Create(QuadraticPlan("new", {1}, 1)), IsOk());
  SweepPlan other = QuadraticPlan("other", {1}, 1);
  other.priority = 1;
  ASSERT_THAT(Create(other), IsOk());
  EXPECT_THAT(Sql("SELECT name, pass FROM sweeps ORDER BY id"), ElementsAre("old|600", "new|600", "other|0"));
}

TEST_F(SweepCreateTest, AReadOnlyDatabaseIsUnavailable) {
  Database::Options options = options_;
  options.conninfo += " options='-c default_transaction_read_only=on'";
  auto database = Database::Connect(options);
  ASSERT_THAT(database, IsOk());
  SweepStore store(database->get());
  const SweepPlan plan = QuadraticPlan("read-only", {1}, 1);
  EXPECT_THAT(store.Create(plan, SourceOf(plan)), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(store.EndFinished(), IsOk());  // Nothing to end, nothing written.
  EXPECT_THAT(store.List({}), IsOk());
}

TEST_F(SweepCreateTest, FindsByNameAndById) {
  const auto created = Create(QuadraticPlan("found", {1}, 1));
  ASSERT_THAT(created, IsOk());
  EXPECT_EQ(store_->Find("found")->id, created->sweep.id);
  EXPECT_EQ(store_->Find(absl::StrCat(created->sweep.id))->name, "found");
  EXPECT_THAT(store_->Find("lost"), Fails(absl::StatusCode::kNotFound, "\"lost\""));
  EXPECT_THAT(store_->Find("12345"), Fails(absl::StatusCode::kNotFound, "12345"));
  EXPECT_THAT(store_->Spec(12345), HasCode(absl::StatusCode::kNotFound));
  EXPECT_THAT(store_->Study(12345), HasCode(absl::StatusCode::kNotFound));
}

TEST_F(SweepCreateTest, ListsNewestFirstByTagStateAndPage) {
  for (const char* name : {"a", "b", "c"}) {
    SweepPlan plan = QuadraticPlan(name, {1}, 1);
    plan.tags = {name == std::string("b") ? "odd" : "even"};
    ASSERT_THAT(Create(plan), IsOk());
  }
  ASSERT_THAT(store_->Pause("c"), IsOk());
  const auto names = [&](const SweepStore::Filter& filter) {
    std::vector<std::string> found;
    const auto sweeps = store_->List(filter);
    EXPECT_THAT(sweeps, IsOk());
    for (const SweepRow& sweep : *sweeps) {
      found.push_back(sweep.name);
    }
    return found;
  };
  EXPECT_THAT(names({}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(names({.tag = "even"}), ElementsAre("c", "a"));
  EXPECT_THAT(names({.state = SweepState::kActive}), ElementsAre("b", "a"));
  EXPECT_THAT(names({.limit = 2}), ElementsAre("c", "b"));
  EXPECT_THAT(names({.before = store_->Find("b")->id, .limit = 2}), ElementsAre("a"));
}

TEST_F(SweepCreateTest, WorkloadsSayTheirStudiesAndSweeps) {
  ASSERT_THAT(Create(QuadraticPlan("a", {8, 1}, 1)), IsOk());
  ASSERT_THAT(Create(QuadraticPlan("b", {2}, 1)), IsOk());
  ASSERT_THAT(Create(QuadraticPlan("c", {2}, 1, "momentum")), IsOk());
  const auto workloads = store_->Workloads();
  ASSERT_THAT(workloads, IsOk());
  ASSERT_EQ(workloads->size(), 2);
  EXPECT_EQ((*workloads)[0].address, "none/noisy_quadratic/momentum");
  const WorkloadRow& sgd = (*workloads)[1];
  EXPECT_EQ(sgd.workload, QuadraticStudy("sgd", 1).workload);
  EXPECT_THAT(sgd.batch_sizes, ElementsAre(1, 2, 8));
  EXPECT_THAT(sgd.sweeps, ElementsAre("b", "a"));
  EXPECT_THAT(sgd.metrics, ElementsAre("test/loss", "val/loss"));
}

}  // namespace
}  // namespace stepcurve
