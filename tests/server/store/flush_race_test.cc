// SPDX-License-Identifier: Apache-2.0
//
// Flushes, claims, the reaper and cancel against one another, on their own connections. What FleetTest checks after
// every test is the point: counts add up, nothing is stored twice, every ended trial has one row of records.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/store/pg_connection.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class FlushRaceTest : public FleetTest {
 protected:
  FlushRaceTest() { caps_.losses = 3; }

  // A database of its own, whose deadlocks are therefore ours.
  void SetUp() override {
    conninfo_ = TestConninfo();
    name_ = absl::StrCat("stepcurve_race_", getpid(), "_", absl::ToUnixMicros(absl::Now()));
    Administer(absl::StrCat("CREATE DATABASE ", name_));
    setenv("STEPCURVE_TEST_POSTGRES", absl::StrCat(conninfo_, " dbname=", name_).c_str(), 1);
    FleetTest::SetUp();
    LetLeasesMatter();
  }
  void TearDown() override {
    FleetTest::TearDown();
    flush_ = nullptr;  // The last of the connections, which tell their statistics when they close.
    EXPECT_EQ(Number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), 0);
    setenv("STEPCURVE_TEST_POSTGRES", conninfo_.c_str(), 1);
    Administer(absl::StrCat("DROP DATABASE ", name_, " WITH (FORCE)"));
  }
  void Administer(const std::string& statement) {
    const auto connection = PgConnection::Open({.conninfo = conninfo_});
    ASSERT_THAT(connection, IsOk());
    ASSERT_THAT((*connection)->Run(statement.c_str()), IsOk());
  }

  // A step of an attempt that a worker might take next, whatever has happened to it.
  static AttemptEvents NextEvents(const Grant& grant, std::mt19937& random) {
    const int64_t step = static_cast<int64_t>(random() % 50);
    switch (random() % 10) {
      case 0:
        return EndOf(grant, Released{}, -1);
      case 1:
        return EndOf(grant, Failure{.message = "it broke"}, -1);
      case 2:
        return EndOf(grant, Diverged{.step = 100}, -1);
      case 3:
      case 4:
        return WholeOf(grant);
      default:
        return PointsOf(grant, {step, step + 1, step + 2});
    }
  }

  std::string conninfo_;
  std::string name_;
};

// L2, L3: the same attempts finish and expire at once.
TEST_F(FlushRaceTest, AFinishedTrialNeverReturnsToTheQueue) {
  constexpr int kRounds = 12;
  constexpr int kTrials = 60;
  Create("s", kRounds * kTrials);
  int finished = 0;
  for (int round = 0; round < kRounds; ++round) {
    const TestWorker worker = Register(absl::StrCat("w", round));
    const std::vector<Grant> grants = Claim(worker, kTrials);
    std::vector<AttemptEvents> starts, ends;
    for (const Grant& grant : grants) {
      starts.push_back(StartOf(grant));
      ends.push_back(WholeOf(grant));
    }
    Flush(starts);
    Expire(worker);
    std::atomic<bool> go = false;
    std::thread reaper([&] {
      while (!go) {
      }
      EXPECT_THAT(sessions_->EndExpired(), IsOk());
      for (bool more = true; more;) {
        const auto released = sessions_->ReleaseEnded(25);
        ASSERT_THAT(released, IsOk());
        more = released->more;
      }
    });
    go = true;
    std::vector<Standing> standings;
    for (int slice = 0; slice < 4; ++slice) {
      const std::vector<AttemptEvents> part(ends.begin() + slice * kTrials / 4,
                                            ends.begin() + (slice + 1) * kTrials / 4);
      for (Standing& standing : Flush(part).standings) {
        standings.push_back(std::move(standing));
      }
    }
    reaper.join();
    const std::vector<std::string> rows = Sql("SELECT id FROM trials WHERE state = 'complete'");
    const std::set<std::string> in_database(rows.begin(), rows.end());
    for (const Standing& standing : standings) {
      const bool complete = standing.verdict == Verdict::kEnded && standing.state == TrialState::kComplete;
      finished += complete ? 1 : 0;
      EXPECT_EQ(in_database.count(absl::StrCat(standing.trial)) > 0, complete) << "trial " << standing.trial;
    }
    Reap();
  }
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'complete'"), finished);
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'running'"), 0);
}

// The same points and endings at two servers at once, in pieces that overlap at random.
TEST_F(FlushRaceTest, TwoServersFedWithTheSameStreamsStoreEachPointOnce) {
  constexpr int kTrials = 40;
  Create("s", kTrials);
  const std::vector<Grant> grants = Claim(Register("a"), kTrials);
  const auto feed = [&](int seed) {
    auto flush = OpenFlush();
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<int64_t> sent(kTrials, 0);  // Steps below have been sent.
    for (int round = 0; round < 60; ++round) {
      std::vector<AttemptEvents> batch;
      for (int i = 0; i < kTrials; ++i) {
        const int64_t first = std::max<int64_t>(0, sent[static_cast<size_t>(i)] - static_cast<int64_t>(random() % 5));
        const int64_t past = std::min<int64_t>(101, first + static_cast<int64_t>(random() % 10));
        std::vector<int64_t> steps;
        for (int64_t step = first; step < past; ++step) {
          steps.push_back(step);
        }
        sent[static_cast<size_t>(i)] = std::max(sent[static_cast<size_t>(i)], past);
        batch.push_back(past == 101 ? EndOf(grants[static_cast<size_t>(i)], Complete{}, 100, steps)
                                    : PointsOf(grants[static_cast<size_t>(i)], steps));
      }
      EXPECT_THAT(flush->Flush(batch), IsOk());
    }
  };
  std::thread one([&] { feed(1); });
  std::thread two([&] { feed(2); });
  one.join();
  two.join();
  EXPECT_EQ(Number("SELECT count(*) FROM trials WHERE state = 'complete' AND last_step = 100"), kTrials);
  EXPECT_EQ(Number("SELECT sum(cardinality(steps)) FROM chunks"), kTrials * 101);
  EXPECT_EQ(Number("SELECT count(DISTINCT (offsets, steps, \"values\")) FROM records"), 1);
}

// Two flushers, two claimers, a reaper and, at last, cancel, with sessions that end at any moment and attempts that
// report late.
TEST_F(FlushRaceTest, FlushersClaimsReaperAndCancelLeaveCountsThatAddUp) {
  constexpr auto kFor = absl::Seconds(6);
  SweepPlan capped = QuadraticPlan("capped", {1, 2}, 2000);
  capped.max_running = 40;
  Create(capped);
  Create(QuadraticPlan("free", {1, 2, 4, 8}, 1000));
  options_.connections = 8;
  auto database = Database::Connect(options_);
  ASSERT_THAT(database, IsOk());
  const absl::Time end = absl::Now() + kFor;
  std::atomic<int64_t> granted = 0, flushed = 0;

  const auto server = [&](int seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    SessionStore sessions({.database = database->get(), .caps = caps_});
    ClaimStore claims(database->get());
    auto flush = OpenFlush();
    std::vector<Grant> known;  // Of any session, ended or not.
    int generation = 0;
    while (absl::Now() < end) {
      std::vector<TestWorker> workers;
      for (int i = 0; i < 4; ++i) {
        workers.push_back(Register(absl::StrCat("server-", seed, "-", generation, "-", i)));
      }
      ++generation;
      std::vector<ClaimStore::Request> requests;
      for (const TestWorker& worker : workers) {
        requests.push_back(Wants(worker, 10));
      }
      for (int round = 0; round < 8; ++round) {
        const auto result = claims.Claim(requests);
        ASSERT_THAT(result, IsOk());
        granted += static_cast<int64_t>(result->grants.size());
        known.insert(known.end(), result->grants.begin(), result->grants.end());
        std::shuffle(known.begin(), known.end(), random);
        known.resize(std::min<size_t>(known.size(), 120));
        std::vector<AttemptEvents> batch;
        for (const Grant& grant : known) {
          batch.push_back(NextEvents(grant, random));
        }
        ASSERT_THAT(flush->Flush(batch), IsOk());
        flushed += static_cast<int64_t>(batch.size());
      }
      for (const TestWorker& worker : workers) {
        if (random() % 2 == 0) {
          ASSERT_THAT(sessions.End(worker.session.session, "its turn"), IsOk());
        } else {
          HelloRequest hello = HelloOf("");  // Comes back, holding nothing any more.
          hello.key = worker.key;
          ASSERT_THAT(sessions.Hello(hello), IsOk());
        }
      }
    }
  };
  std::thread one([&] { server(1); });
  std::thread two([&] { server(2); });
  std::thread reaper([&] {
    SessionStore sessions({.database = database->get(), .caps = caps_});
    while (absl::Now() < end) {
      ASSERT_THAT(sessions.EndExpired(), IsOk());
      ASSERT_THAT(sessions.ReleaseEnded(50), IsOk());
    }
  });
  std::thread cancel([&] {
    SweepStore sweeps(database->get());
    absl::SleepFor(kFor / 2);  // The race is timed from outside: half of it without, half with.
    ASSERT_THAT(sweeps.Cancel("free"), IsOk());
    while (absl::Now() < end) {
      ASSERT_THAT(sweeps.CancelSlice(), IsOk());
    }
  });
  for (std::thread* thread : {&one, &two, &reaper, &cancel}) {
    thread->join();
  }
  EXPECT_GT(granted, 500);
  EXPECT_GT(flushed, 2000);
  while (*sweeps_->CancelSlice()) {
  }
  EXPECT_EQ(
      Number("SELECT count(*) FROM trials t JOIN studies y ON y.id = t.study_id JOIN sweeps w ON w.id = y.sweep_id"
             " WHERE w.name = 'free' AND t.state IN ('queued', 'running')"),
      0);
}

}  // namespace
}  // namespace stepcurve
