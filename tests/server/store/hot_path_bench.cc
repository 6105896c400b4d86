// SPDX-License-Identifier: Apache-2.0
//
// Figures of the store's hot path on one backend, with PostgreSQL alone beside it: points taken in, trials from the
// queue to their end, claims with a long history and under an open snapshot. Wall time says what this machine does now;
// CPU time, of this process and of the backend, what it would do undisturbed.
//
//   STEPCURVE_TEST_POSTGRES="host=/tmp/pg user=postgres dbname=postgres" hot_path_bench
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "server/store/pg_connection.h"
#include "tests/server/store/fleet.h"

namespace stepcurve {
namespace {

constexpr int kMetrics = 4;

double OwnCpu() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of a process on this machine; 0 where PostgreSQL is elsewhere.
double CpuOf(int64_t pid) {
  std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(stat, line);
  const std::vector<std::string> fields = absl::StrSplit(line.substr(std::min(line.size(), line.find(')') + 2)), ' ');
  int64_t user = 0, system = 0;
  if (fields.size() < 13 || !absl::SimpleAtoi(fields[11], &user) || !absl::SimpleAtoi(fields[12], &system)) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class HotPathBench : public FleetTest {
 protected:
  void SetUp() override {
    FleetTest::SetUp();
    const std::string base = options_.conninfo;
    options_.conninfo = base + " application_name=" + options_.schema;
    options_.connections = 1;
    flush_ = OpenFlush();
    claim_database_ = *Database::Connect(options_);
    options_.conninfo = base;
    claims_ = std::make_unique<ClaimStore>(claim_database_.get());
  }
  void TearDown() override { PostgresTest::TearDown(); }

  double BackendCpu() {
    double sum = 0;
    for (const std::string& pid :
         Sql(absl::StrCat("SELECT pid FROM pg_stat_activity WHERE application_name = '", options_.schema, "'"))) {
      int64_t id = 0;
      EXPECT_TRUE(absl::SimpleAtoi(pid, &id));
      sum += CpuOf(id);
    }
    return sum;
  }

  // Runs `body` and prints what `count` units cost.
  template <typename Body>
  void Measure(const std::string& name, const std::string& unit, double count, Body body) {
    const double backend = BackendCpu();
    const double own = OwnCpu();
    const absl::Time start = absl::Now();
    body();
    const double wall = absl::ToDoubleSeconds(absl::Now() - start);
    const double own_used = OwnCpu() - own;
    const double backend_used = BackendCpu() - backend;
    std::printf("%-44s %10.0f %s/s wall, %10.0f by CPU (backend %.2f us, server %.2f us each)\n", name.c_str(),
                count / wall, unit.c_str(), count / (own_used + backend_used), backend_used / count * 1e6,
                own_used / count * 1e6);
    std::fflush(stdout);
  }

  static SweepPlan Plan(const std::string& name, std::vector<int64_t> batch_sizes, int64_t trials, int64_t budget) {
    SweepPlan plan = QuadraticPlan(name, batch_sizes, trials);
    for (StudyPlan& study : plan.studies) {
      study.definition.metrics = {"train/loss", "val/loss", "train/error", "val/error"};
      study.definition.budget_steps = budget;
    }
    return plan;
  }
  static AttemptEvents Report(const Grant& grant, int64_t first, int64_t points) {
    AttemptEvents events = StartOf(grant);
    for (int64_t i = 0; i < points; ++i) {
      events.steps.push_back(first + i);
    }
    for (int64_t i = 0; i < points * kMetrics; ++i) {
      events.values.push_back(1.0 / static_cast<double>(1 + (i * 7919 + grant.trial) % 1000));
    }
    return events;
  }

  std::unique_ptr<Database> claim_database_;
};

TEST_F(HotPathBench, Ingest) {
  constexpr int64_t kTrials = 400, kBudget = 1'000'000;
  Create(Plan("s", {1, 2, 4, 8}, kTrials / 4, kBudget));
  const std::vector<Grant> grants = Claim(Register("a"), kTrials);
  int64_t at = 0;
  for (const int64_t points : {10, 50, 200, 1000}) {
    const int64_t rounds = std::max<int64_t>(6, 2000 / points);
    std::vector<std::vector<AttemptEvents>> batches;
    for (int64_t round = 0; round < rounds; ++round, at += points) {
      std::vector<AttemptEvents>& batch = batches.emplace_back();
      for (const Grant& grant : grants) {
        batch.push_back(Report(grant, at, points));
      }
    }
    Measure(absl::StrCat("ingest, ", points, " points a report"), "measurements",
            static_cast<double>(kTrials * points * rounds), [&] {
              for (const auto& batch : batches) {
                Flush(batch);
              }
            });
  }
}

TEST_F(HotPathBench, Lifecycle) {
  constexpr int64_t kTrials = 30'000;
  std::vector<int64_t> batch_sizes;
  for (int64_t size = 1; size <= 100; ++size) {
    batch_sizes.push_back(size);
  }
  Create(Plan("s", batch_sizes, kTrials / 100, 9));
  std::vector<TestWorker> workers;
  for (int i = 0; i < 64; ++i) {
    workers.push_back(Register(absl::StrCat("w", i)));
  }
  for (const int64_t batch : {256, 1024}) {
    std::vector<ClaimStore::Request> requests;
    for (const TestWorker& worker : workers) {
      requests.push_back(Wants(worker, batch / 64));
    }
    std::vector<std::vector<Grant>> claimed;
    Measure(absl::StrCat("claim, ", batch, " at once for 64 sessions"), "trials", kTrials / 3, [&] {
      for (int64_t taken = 0; taken < kTrials / 3; taken += batch) {
        claimed.push_back(claims_->Claim(requests)->grants);
      }
    });
    std::vector<std::vector<AttemptEvents>> batches;
    for (const auto& grants : claimed) {
      std::vector<AttemptEvents>& events = batches.emplace_back();
      for (const Grant& grant : grants) {
        events.push_back(Report(grant, 0, 10));
        events.back().ending = Ending{.last_step = 9, .outcome = Complete{}};
      }
    }
    Measure(absl::StrCat("start, 10 points and end, ", batch, " a flush"), "trials", kTrials / 3, [&] {
      for (const auto& events : batches) {
        Flush(events);
      }
    });
  }
}

TEST_F(HotPathBench, ClaimLatency) {
  constexpr int64_t kTrials = 100'000;
  std::vector<int64_t> batch_sizes;
  for (int64_t size = 1; size <= 20; ++size) {
    batch_sizes.push_back(size);
  }
  std::vector<TestWorker> workers;
  for (int i = 0; i < 16; ++i) {
    workers.push_back(Register(absl::StrCat("w", i)));
  }
  std::vector<ClaimStore::Request> requests;
  for (const TestWorker& worker : workers) {
    requests.push_back(Wants(worker, 16));
  }
  for (const bool open : {false, true}) {
    Create(Plan(open ? "open" : "closed", batch_sizes, kTrials / 20, 9));
    Sql("ANALYZE");
    auto holder = *PgConnection::Open(options_);
    if (open) {
      ASSERT_THAT(holder->Run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"), IsOk());
      ASSERT_THAT(holder->Run("SELECT count(*) FROM strands"), IsOk());
      ASSERT_THAT(holder->Run("SET idle_in_transaction_session_timeout = 0"), IsOk());
    }
    std::vector<double> latencies;
    for (;;) {
      const absl::Time start = absl::Now();
      const std::vector<Grant> grants = claims_->Claim(requests)->grants;
      latencies.push_back(absl::ToDoubleMilliseconds(absl::Now() - start));
      if (grants.empty()) {
        break;
      }
      std::vector<AttemptEvents> events;
      for (const Grant& grant : grants) {
        events.push_back(Report(grant, 0, 10));
        events.back().ending = Ending{.last_step = 9, .outcome = Complete{}};
      }
      Flush(events);
    }
    const auto median = [&](size_t tenth) {
      const size_t size = latencies.size() / 10;
      std::vector<double> part(latencies.begin() + static_cast<ptrdiff_t>(tenth * size),
                               latencies.begin() + static_cast<ptrdiff_t>((tenth + 1) * size));
      std::nth_element(part.begin(), part.begin() + static_cast<ptrdiff_t>(part.size() / 2), part.end());
      return part[part.size() / 2];
    };
    std::printf(
        "claim of 256 through 100,000 trials, %s: median of first tenth %.2f ms, fifth %.2f, last %.2f (%zu claims)\n",
        open ? "a snapshot held open" : "nothing held open", median(0), median(4), median(9), latencies.size());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace stepcurve
