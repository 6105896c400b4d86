// SPDX-License-Identifier: Apache-2.0
#include "server/store/trial_store.h"

#include <string>
#include <utility>
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

class TrialStoreTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    sweeps_ = std::make_unique<SweepStore>(database_.get());
    store_ = std::make_unique<TrialStore>(database_.get());
  }
  // Ids of the sweep's studies.
  std::vector<int64_t> Create(const SweepPlan& plan) {
    const auto created = sweeps_->Create(plan, SourceOf(plan));
    EXPECT_THAT(created, IsOk());
    std::vector<int64_t> studies;
    const auto rows = sweeps_->Studies(created->sweep.id);
    EXPECT_THAT(rows, IsOk());
    for (const StudyRow& study : *rows) {
      studies.push_back(study.id);
    }
    return studies;
  }
  // (study, number) of all pages.
  std::vector<std::pair<int64_t, int64_t>> Walk(TrialStore::Filter filter) {
    std::vector<std::pair<int64_t, int64_t>> walked;
    while (true) {
      const auto page = store_->List(filter);
      EXPECT_THAT(page, IsOk());
      EXPECT_LE(page->size(), filter.limit);
      for (const TrialRow& trial : *page) {
        walked.emplace_back(trial.study, trial.number);
      }
      if (page->size() < static_cast<size_t>(filter.limit)) {
        return walked;
      }
      filter.after_study = page->back().study;
      filter.after_number = page->back().number;
      filter.after_repeat = page->back().repeat;
    }
  }
  void AddChunk(int64_t trial, int64_t attempt, const std::vector<int64_t>& steps) {
    std::string text, values;
    for (int metric = 0; metric < 2; ++metric) {
      for (const int64_t step : steps) {
        absl::StrAppend(&values, values.empty() ? "" : ",", 1000 * metric + step);
        if (metric == 0) {
          absl::StrAppend(&text, text.empty() ? "" : ",", step);
        }
      }
    }
    Sql(absl::StrCat("INSERT INTO chunks VALUES (", trial, ", ", attempt, ", ", steps.front(), ", ", steps.back(),
                     ", 0, 0, '{", text, "}', '{", values, "}')"));
  }
  void EndAttempt(int64_t trial, int64_t attempt, const std::string& base) {
    Sql(absl::StrCat(
        "INSERT INTO past_attempts (trial_id, attempt, session_id, base_step, last_step, start_time, outcome)"
        " VALUES (",
        trial, ", ", attempt, ", 1, ", base, ", 20, now(), 'lost')"));
  }

  std::unique_ptr<SweepStore> sweeps_;
  std::unique_ptr<TrialStore> store_;
};

TEST_F(TrialStoreTest, EveryPageSizeWalksAllTrialsOnceInOrder) {
  std::vector<int64_t> studies = Create(QuadraticPlan("s", {1, 2, 4}, 25));
  std::swap(studies[0], studies[2]);
  std::vector<std::pair<int64_t, int64_t>> expected;
  for (const int64_t study : studies) {
    for (int64_t number = 1; number <= 25; ++number) {
      expected.emplace_back(study, number);
    }
  }
  for (const int64_t limit : {1, 2, 3, 7, 24, 25, 26, 50, 74, 75, 76, 1000}) {
    EXPECT_EQ(Walk({.studies = studies, .limit = limit}), expected) << limit;
  }
}

TEST_F(TrialStoreTest, PagesHoldOnlyTheStatesAskedFor) {
  const std::vector<int64_t> studies = Create(QuadraticPlan("s", {1, 2}, 10));
  Sql("UPDATE trials SET state = 'failed', attempt = 1, end_reason = 'error', end_time = now(), error = 'out of "
      "memory',"
      " crashes = 3, worker_name = 'node-7', train_seconds = 1.5 WHERE number % 3 = 0");
  const std::vector<std::pair<int64_t, int64_t>> expected = {{studies[0], 3}, {studies[0], 6}, {studies[0], 9},
                                                             {studies[1], 3}, {studies[1], 6}, {studies[1], 9}};
  EXPECT_EQ(Walk({.studies = studies, .states = {TrialState::kFailed, TrialState::kComplete}, .limit = 2}), expected);
  const auto page = store_->List({.studies = studies, .states = {TrialState::kFailed}});
  const TrialRow& trial = page->front();
  EXPECT_EQ(trial.state, TrialState::kFailed);
  EXPECT_EQ(trial.end_reason, EndReason::kError);
  EXPECT_EQ(trial.error, "out of memory");
  EXPECT_EQ(trial.worker, "node-7");
  EXPECT_EQ(trial.crashes, 3);
  EXPECT_EQ(trial.train_seconds, 1.5);
  EXPECT_TRUE(trial.end_time.has_value());
  EXPECT_FALSE(trial.grant_time.has_value());
}

TEST_F(TrialStoreTest, FindsATrialByIdAndByNumber) {
  const SweepPlan plan = QuadraticPlan("s", {4}, 3);
  const std::vector<int64_t> studies = Create(plan);
  const StudyDefinition& study = plan.studies[0].definition;
  const NewTrial expected = NewTrials(study, MakeSampler(study, std::nullopt), 1, 1, 2)[0];
  const auto found = store_->Find(studies[0], 2, 0);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->parameters, expected.point.parameters);
  EXPECT_EQ(found->training_seed, expected.training_seed);
  EXPECT_EQ(found->last_step, -1);
  EXPECT_EQ(store_->Get(found->id)->number, 2);
  EXPECT_THAT(store_->Find(studies[0], 4, 0), Fails(absl::StatusCode::kNotFound, "no trial number 4"));
  EXPECT_THAT(store_->Get(999), Fails(absl::StatusCode::kNotFound, "999"));
}

TEST_F(TrialStoreTest, OpenTrialsOfACancelledSweepAreShownCancelled) {
  const std::vector<int64_t> studies = Create(QuadraticPlan("s", {1}, 3));
  ASSERT_THAT(sweeps_->Cancel("s"), IsOk());
  const auto trial = store_->Find(studies[0], 1, 0);
  EXPECT_EQ(trial->state, TrialState::kCancelled);
  EXPECT_EQ(trial->end_reason, EndReason::kCancelled);
  EXPECT_EQ(store_->Get(trial->id)->state, TrialState::kCancelled);
  EXPECT_EQ(store_->List({.studies = studies, .states = {TrialState::kCancelled}})->size(), 3);
  EXPECT_THAT(*store_->List({.studies = studies, .states = {TrialState::kQueued}}), IsEmpty());
}

TEST_F(TrialStoreTest, AttemptsSayWhoRanThemAndHowTheyEnded) {
  const std::vector<int64_t> studies = Create(QuadraticPlan("s", {1}, 1));
  const int64_t trial = store_->Find(studies[0], 1, 0)->id;
  Sql(absl::StrCat(
      "INSERT INTO sessions (expires_at, key, worker_name, build, server_name, slot_classes, can_run) VALUES (now(),"
      " '0123456789abcdef0123456789abcdef', 'node-7', 'v1', 'server',"
      " '[{\"device\": \"cpu\", \"threads\": 1}, {\"device\": \"cuda\", \"threads\": 4}]', '{}');"
      "INSERT INTO past_attempts VALUES (",
      trial, ", 2, 77, NULL, -1, now(), now(), NULL, 'released', NULL, NULL), (", trial,
      ", 1, 1, -1, 20, now(), now(), 1, 'error', 'out of memory', '\\x00ff')"));
  const auto attempts = store_->Attempts(trial);
  ASSERT_THAT(attempts, IsOk());
  ASSERT_EQ(attempts->size(), 2);
  const AttemptRow& first = (*attempts)[0];
  EXPECT_EQ(first.attempt, 1);
  EXPECT_EQ(first.worker, "node-7");
  EXPECT_EQ(first.build, "v1");
  EXPECT_EQ(first.device, "cuda");
  EXPECT_EQ(first.threads, 4);
  EXPECT_EQ(first.base_step, -1);
  EXPECT_EQ(first.last_step, 20);
  EXPECT_EQ(first.outcome, "error");
  EXPECT_EQ(first.error, "out of memory");
  EXPECT_EQ(first.log_tail, std::string("\0\xff", 2));
  EXPECT_EQ((*attempts)[1].base_step, std::nullopt);
  EXPECT_EQ((*attempts)[1].worker, "");
}

struct Piece {
  int64_t attempt;
  bool superseded;
  std::vector<int64_t> steps;
  friend bool operator==(const Piece&, const Piece&) = default;
};
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.attempt << (piece.superseded ? " superseded " : " counts ") << ::testing::PrintToString(piece.steps);
}

// Attempt 1 measured 10 to 60, attempt 2 branched off at 30 and measured 40 to 50, attempt 3 never started, attempt 4
// branched off at 40 and runs. A point of attempt a counts where base(a) < step <= every later attempt's base.
TEST_F(TrialStoreTest, LaterAttemptsSupersedeWhatLiesPastTheirBase) {
  const std::vector<int64_t> studies = Create(QuadraticPlan("s", {1}, 1));
  const int64_t trial = store_->Find(studies[0], 1, 0)->id;
  AddChunk(trial, 1, {10, 20});
  AddChunk(trial, 1, {30, 40, 50});
  AddChunk(trial, 1, {60});
  AddChunk(trial, 2, {40, 50});
  AddChunk(trial, 4, {50, 60});
  EndAttempt(trial, 1, "-1");
  EndAttempt(trial, 2, "30");
  EndAttempt(trial, 3, "NULL");
  Sql("UPDATE trials SET state = 'running', attempt = 4, session_id = 1, base_step = 40");

  const std::vector<Piece> expected = {{1, false, {10, 20}}, {1, false, {30}}, {1, true, {40, 50}}, {1, true, {60}},
                                       {2, false, {40}},     {2, true, {50}},  {4, false, {50, 60}}};
  for (const int limit : {1, 2, 3, 100}) {
    std::vector<Piece> pieces;
    int64_t attempt = 0, step = -1;
    while (true) {
      const auto chunks = store_->Chunks(trial, attempt, step, limit);
      ASSERT_THAT(chunks, IsOk());
      if (chunks->empty()) {
        break;
      }
      for (const ChunkRow& chunk : *chunks) {
        pieces.push_back({chunk.attempt, chunk.superseded, chunk.steps});
        ASSERT_EQ(chunk.values.size(), 2 * chunk.steps.size());
        for (size_t p = 0; p < chunk.steps.size(); ++p) {
          EXPECT_EQ(chunk.values[p], chunk.steps[p]);
          EXPECT_EQ(chunk.values[chunk.steps.size() + p], 1000 + chunk.steps[p]);
        }
      }
      attempt = chunks->back().attempt;
      step = chunks->back().steps.back();
    }
    EXPECT_EQ(pieces, expected) << limit;
  }

  // The view says the same, and every value stands beside its metric.
  EXPECT_THAT(Sql("SELECT attempt, step FROM measurements WHERE NOT superseded AND metric = 'val/loss'"
                  " ORDER BY attempt, step"),
              ElementsAre("1|10", "1|20", "1|30", "2|40", "4|50", "4|60"));
  EXPECT_EQ(
      Value("SELECT count(*), count(*) FILTER (WHERE value = step + CASE metric WHEN 'val/loss' THEN 0 ELSE 1000 END)"
            " FROM measurements"),
      "20|20");
  EXPECT_EQ(Value("SELECT DISTINCT sweep, study, workload, batch_size, number, repeat, trial FROM measurements"),
            absl::StrCat("s|", studies[0], "|none/noisy_quadratic/sgd|1|1|0|", trial));
}

}  // namespace
}  // namespace stepcurve
