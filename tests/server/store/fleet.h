// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "server/store/claim_store.h"
#include "server/store/flush_store.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "tests/server/store/plans.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {

// The state of a registered worker, as a server would keep it.
struct TestWorker {
  std::string key;
  HelloResult hello;
  ClaimSession session;
};

// Sweeps of quadratic trials (two metrics, a budget of 100 steps) and workers that take them, on real PostgreSQL.
class FleetTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (HasFatalFailure()) {
      return;
    }
    sweeps_ = std::make_unique<SweepStore>(database_.get());
    sessions_ = std::make_unique<SessionStore>(SessionStore::Options{.database = database_.get(), .caps = caps_});
    claims_ = std::make_unique<ClaimStore>(database_.get());
    flush_ = OpenFlush();
  }
  void TearDown() override {
    if (flush_ != nullptr) {
      ExpectCountsAddUp();
    }
    PostgresTest::TearDown();
  }

  std::unique_ptr<FlushStore> OpenFlush() {
    auto flush = FlushStore::Open({.database = options_, .caps = caps_});
    EXPECT_THAT(flush, IsOk());
    return flush.ok() ? *std::move(flush) : nullptr;
  }

  int64_t Create(const SweepPlan& plan) {
    const auto created = sweeps_->Create(plan, SourceOf(plan));
    EXPECT_THAT(created, IsOk());
    return created.ok() ? created->sweep.id : 0;
  }
  int64_t Create(const std::string& name, int64_t trials) { return Create(QuadraticPlan(name, {8}, trials)); }

  static SlotClass Slots() { return {.slots = 8}; }
  static Capabilities Everything() {
    return {.datasets = {{.name = "none"}}, .models = {"noisy_quadratic"}, .optimizers = {"sgd", "momentum"}};
  }
  static HelloRequest HelloOf(const std::string& name) {
    return {.key = KeyOf(name),
            .worker_name = name,
            .build = "test",
            .server_name = "server-1",
            .slot_classes = {Slots()},
            .can_run = Everything()};
  }
  static std::string KeyOf(const std::string& name) { return absl::StrFormat("%032x", std::hash<std::string>()(name)); }

  TestWorker Register(const HelloRequest& hello) {
    const auto result = sessions_->Hello(hello);
    EXPECT_THAT(result, IsOk());
    TestWorker worker{.key = hello.key, .hello = result.value_or(HelloResult{})};
    worker.session = {.session = worker.hello.session,
                      .stream = worker.hello.stream,
                      .slot_classes = hello.slot_classes,
                      .can_run = hello.can_run,
                      .worker_name = hello.worker_name};
    return worker;
  }
  TestWorker Register(const std::string& name) { return Register(HelloOf(name)); }

  static ClaimStore::Request Wants(const TestWorker& worker, int64_t count) {
    return {.session = &worker.session, .demands = {{.session = worker.session.session, .wanted = count}}};
  }
  std::vector<Grant> Claim(const TestWorker& worker, int64_t count) {
    const auto result = claims_->Claim({Wants(worker, count)});
    EXPECT_THAT(result, IsOk());
    return result.value_or(ClaimStore::Result{}).grants;
  }
  Grant ClaimOne(const TestWorker& worker) {
    std::vector<Grant> grants = Claim(worker, 1);
    EXPECT_EQ(grants.size(), 1u);
    return grants.empty() ? Grant{} : grants[0];
  }

  FlushStore::Result Flush(const std::vector<AttemptEvents>& batch) {
    const auto result = flush_->Flush(batch);
    EXPECT_THAT(result, IsOk());
    return result.value_or(FlushStore::Result{});
  }
  Standing FlushOne(const AttemptEvents& events) {
    const FlushStore::Result result = Flush({events});
    return result.standings.empty() ? Standing{} : result.standings[0];
  }

  std::string State(int64_t trial) { return Value(absl::StrCat("SELECT state FROM trials WHERE id = ", trial)); }
  // So that the reaper may act: the servers have had the database for long enough.
  void LetLeasesMatter() { Sql("UPDATE service SET seen_at = now(), available_since = now() - interval '1 hour'"); }
  void Expire(const TestWorker& worker) {
    Sql(absl::StrCat("UPDATE sessions SET expires_at = now() - interval '1 second' WHERE id = ",
                     worker.session.session));
  }
  // Ends what has expired and requeues all of it.
  void Reap() {
    LetLeasesMatter();
    EXPECT_THAT(sessions_->EndExpired(), IsOk());
    for (bool more = true; more;) {
      const auto released = sessions_->ReleaseEnded(1000);
      ASSERT_THAT(released, IsOk());
      more = released->more;
    }
  }

  // Everything that the schema's constraints cannot say. Holds after every test.
  void ExpectCountsAddUp() {
    EXPECT_THAT(Sql("SELECT s.id, s.queued, s.running, s.complete, n.* FROM strands s CROSS JOIN LATERAL ("
                    "  SELECT count(*) FILTER (WHERE state = 'queued') AS queued,"
                    "         count(*) FILTER (WHERE state = 'running') AS running,"
                    "         count(*) FILTER (WHERE state = 'complete') AS complete,"
                    "         count(*) FILTER (WHERE state = 'infeasible') AS infeasible,"
                    "         count(*) FILTER (WHERE state = 'failed') AS failed,"
                    "         count(*) FILTER (WHERE state = 'cancelled') AS cancelled"
                    "    FROM trials t WHERE t.strand_id = s.id) n"
                    " WHERE (s.queued, s.running, s.complete, s.infeasible, s.failed, s.cancelled) IS DISTINCT FROM"
                    "       (n.queued, n.running, n.complete, n.infeasible, n.failed, n.cancelled)"),
                ::testing::IsEmpty())
        << "strands whose counts are not those of their trials";
    EXPECT_THAT(Sql("SELECT t.id FROM trials t JOIN strands s ON s.id = t.strand_id"
                    "  LEFT JOIN requeued r ON r.trial_id = t.id"
                    " WHERE (t.state = 'queued' AND t.position < s.granted) <> (r.trial_id IS NOT NULL)"),
                ::testing::IsEmpty())
        << "trials that came back and are not in `requeued`, or are there and did not";
    EXPECT_THAT(Sql("SELECT w.id, w.running FROM sweeps w WHERE w.max_running IS NOT NULL AND w.running <>"
                    " (SELECT count(*) FROM trials t JOIN studies y ON y.id = t.study_id"
                    "   WHERE y.sweep_id = w.id AND t.state = 'running')"),
                ::testing::IsEmpty())
        << "sweeps whose running is not what runs";
    EXPECT_THAT(Sql("SELECT t.id FROM trials t LEFT JOIN records r ON r.trial_id = t.id"
                    " WHERE (t.state IN ('complete', 'infeasible', 'stopped', 'failed')"
                    " OR (t.state = 'cancelled' AND t.attempt > 0)) <> (r.trial_id IS NOT NULL)"),
                ::testing::IsEmpty())
        << "ended trials without records, or open ones with them";
    EXPECT_THAT(Sql("SELECT c.trial_id, c.attempt, u.step FROM chunks c CROSS JOIN LATERAL unnest(c.steps) u(step)"
                    " GROUP BY 1, 2, 3 HAVING count(*) > 1"),
                ::testing::IsEmpty())
        << "points stored twice";
    EXPECT_THAT(Sql("SELECT t.id FROM trials t JOIN sessions s ON s.id = t.session_id WHERE s.released"),
                ::testing::IsEmpty())
        << "trials that run for a session that gave everything back";
  }

  RetryCaps caps_;
  std::unique_ptr<SweepStore> sweeps_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<ClaimStore> claims_;
  std::unique_ptr<FlushStore> flush_;
};

// Events of one attempt of a granted trial.
inline AttemptEvents EventsOf(const Grant& grant) {
  return {.trial = grant.trial, .attempt = grant.attempt, .session = grant.session};
}
inline AttemptEvents StartOf(const Grant& grant) {
  AttemptEvents events = EventsOf(grant);
  events.base_step = -1;
  return events;
}
// Points with both metrics at `1 / (step + 1)`, the second ten times that.
inline AttemptEvents PointsOf(const Grant& grant, std::vector<int64_t> steps) {
  AttemptEvents events = StartOf(grant);
  for (const double factor : {1.0, 10.0}) {
    for (const int64_t step : steps) {
      events.values.push_back(factor / (static_cast<double>(step) + 1));
    }
  }
  events.steps = std::move(steps);
  events.train_seconds = 2;
  events.eval_seconds = 1;
  return events;
}
template <typename Outcome>
AttemptEvents EndOf(const Grant& grant, Outcome outcome, int64_t last_step, std::vector<int64_t> steps = {}) {
  AttemptEvents events = PointsOf(grant, std::move(steps));
  events.ending = Ending{.last_step = last_step, .outcome = std::move(outcome)};
  return events;
}
// A whole trial: started, measured at 0, 50 and 100, complete.
inline AttemptEvents WholeOf(const Grant& grant) { return EndOf(grant, Complete{}, 100, {0, 50, 100}); }

}  // namespace stepcurve
