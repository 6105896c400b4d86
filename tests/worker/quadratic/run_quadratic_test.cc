// SPDX-License-Identifier: Apache-2.0
#include "worker/quadratic/run_quadratic.h"

#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/quadratic/second_moments.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

// The i-th of 100 log-spaced rates from 10^-5 to 10^0.5.
double GridRate(int i) { return std::pow(10.0, -5 + 5.5 * i / 99); }

TrialRun MakeRun(const std::string& optimizer, int64_t batch_size, double rate, int64_t budget) {
  TrialRun run;
  run.workload = {.dataset = "quadratic", .model = "noisy_quadratic", .optimizer = optimizer};
  run.batch_size = batch_size;
  run.budget_steps = budget;
  run.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 1};
  run.metrics = {"train/loss", "val/loss"};
  run.parameters = {{"learning_rate", rate}, {"momentum", 0.9}};
  return run;
}

struct Outcome {
  RunEnd end;
  std::vector<int64_t> steps;
  std::vector<std::vector<double>> values;

  // First evaluated step whose last metric is below `threshold`; -1 none.
  int64_t FirstBelow(double threshold) const {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (values[i].back() < threshold) return steps[i];
    }
    return -1;
  }
};

Outcome Train(
    const TrialRun& run, std::function<bool()> should_stop = [] { return false; }) {
  Outcome outcome;
  TrialSink sink;
  sink.measured = [&](int64_t step, const std::vector<double>& values, double, double) {
    outcome.steps.push_back(step);
    outcome.values.push_back(values);
  };
  sink.progress = [](int64_t) {};
  sink.should_stop = std::move(should_stop);
  outcome.end = RunQuadratic(run, sink, *Clock::System());
  return outcome;
}

struct KnownAnswer {
  std::string name;
  std::string optimizer;
  int64_t batch_size;
  double rate;
  int64_t steps;
};

class KnownAnswerTest : public ::testing::TestWithParam<KnownAnswer> {};

TEST_P(KnownAnswerTest, FirstStepBelowAHundredthIsThePublishedOne) {
  const KnownAnswer& known = GetParam();
  const Outcome outcome = Train(MakeRun(known.optimizer, known.batch_size, known.rate, known.steps));
  EXPECT_EQ(outcome.FirstBelow(0.01), known.steps);
  EXPECT_EQ(outcome.end.kind, RunEnd::Kind::kComplete);
  EXPECT_EQ(outcome.end.last_step, known.steps);
  EXPECT_EQ(outcome.steps.size(), static_cast<size_t>(known.steps) + 1);
}

INSTANTIATE_TEST_SUITE_P(All, KnownAnswerTest,
                         ::testing::Values(KnownAnswer{"Sgd256", "sgd", 256, GridRate(88), 25'778},
                                           KnownAnswer{"Sgd1024", "sgd", 1024, GridRate(94), 10'371},
                                           KnownAnswer{"Sgd65536", "sgd", 65536, GridRate(95), 7'079},
                                           KnownAnswer{"Momentum", "momentum", 1024, 0.2, 7'945},
                                           KnownAnswer{"Nesterov", "nesterov_momentum", 1024, 0.2, 7'743}),
                         [](const auto& info) { return info.param.name; });

TEST(QuadraticTest, NeighbouringRatesOfTheGridAreNotBetter) {
  for (const int i : {93, 95}) {
    EXPECT_EQ(Train(MakeRun("sgd", 1024, GridRate(i), 10'371)).FirstBelow(0.01), -1) << "rate " << i;
  }
}

// The loss stays finite for so many steps at the four largest rates.
struct Divergence {
  std::string name;
  int rate;
  int64_t finite_steps;
};

class DivergenceTest : public ::testing::TestWithParam<Divergence> {};

TEST_P(DivergenceTest, FirstStepThatIsNotFiniteIsFoundOnAnyGrid) {
  for (const EvaluationGrid& grid : {EvaluationGrid{.kind = EvaluationGrid::Kind::kEvery, .every = 1},
                                     EvaluationGrid{.kind = EvaluationGrid::Kind::kEvery, .every = 7'000},
                                     EvaluationGrid{.kind = EvaluationGrid::Kind::kGeometric}}) {
    TrialRun run = MakeRun("sgd", 1024, GridRate(GetParam().rate), 10'000);
    run.grid = grid;
    const Outcome outcome = Train(run);
    EXPECT_EQ(outcome.end.kind, RunEnd::Kind::kDiverged) << DescribeGrid(grid);
    EXPECT_EQ(outcome.end.step, GetParam().finite_steps + 1) << DescribeGrid(grid);
    EXPECT_LT(outcome.end.last_step, outcome.end.step);
    EXPECT_EQ(outcome.steps.back(), outcome.end.last_step);
    EXPECT_TRUE(std::isfinite(outcome.values.back().back()));
  }
}

INSTANTIATE_TEST_SUITE_P(LargestRates, DivergenceTest,
                         ::testing::Values(Divergence{"Rate96", 96, 2'471}, Divergence{"Rate97", 97, 957},
                                           Divergence{"Rate98", 98, 613}, Divergence{"Rate99", 99, 460}),
                         [](const auto& info) { return info.param.name; });

TEST(QuadraticTest, MomentumDivergesByOverflowToo) {
  TrialRun run = MakeRun("momentum", 1024, 10, 10'000);
  run.grid.every = 1'000;
  const Outcome sparse = Train(run);
  run.grid.every = 1;
  const Outcome dense = Train(run);
  ASSERT_EQ(dense.end.kind, RunEnd::Kind::kDiverged);
  EXPECT_EQ(dense.end.step, dense.end.last_step + 1);
  EXPECT_EQ(sparse.end.step, dense.end.step);
}

TEST(QuadraticTest, RateTwoGrowsWithoutDivergingAndWithoutNaN) {
  const Outcome outcome = Train(MakeRun("sgd", 1024, 2, 100));
  EXPECT_EQ(outcome.end.kind, RunEnd::Kind::kComplete);
  EXPECT_TRUE(std::isfinite(outcome.values.back().back()));
}

TEST(QuadraticTest, TheLongGapAgreesWithStepping) {
  for (const double rate : {1e-5, 1e-2, 0.7743, 1.0, 1.9, 2.0, 2.15}) {
    for (const double weight_decay : {0.0, 1e-3}) {
      const SecondMoments::Options options{.batch_size = 256, .weight_decay = weight_decay};
      SecondMoments stepped(options), jumped(options);
      stepped.SetRate(rate);
      jumped.SetRate(rate);
      for (int i = 0; i < 2'000; ++i) stepped.Step();
      ASSERT_TRUE(jumped.Jump(1'500));
      ASSERT_TRUE(jumped.Jump(500));
      EXPECT_NEAR(jumped.loss() / stepped.loss(), 1, 1e-12) << "rate " << rate << ", decay " << weight_decay;
    }
  }
}

// The recurrences against 2x2 matrices applied to every coordinate: E zz' <- A E zz' A^T + noise, z = (x, v).
TEST(QuadraticTest, MomentumRecurrencesAgreeWithTheMatrixForm) {
  const double a = 0.3, m = 0.8, batch = 16, decay = 0.05;
  for (const bool nesterov : {false, true}) {
    SecondMoments moments(
        {.optimizer = nesterov ? SecondMoments::Optimizer::kNesterovMomentum : SecondMoments::Optimizer::kMomentum,
         .coordinates = 3,
         .batch_size = 16,
         .momentum = m,
         .weight_decay = decay});
    moments.SetRate(a);
    double covariance[3][2][2] = {{{1, 0}, {0, 0}}, {{1, 0}, {0, 0}}, {{1, 0}, {0, 0}}};
    for (int step = 0; step < 25; ++step) {
      moments.Step();
      double loss = 0;
      for (int i = 0; i < 3; ++i) {
        const double h = 1.0 / (i + 1), c = h + decay;
        // v' = m v + c x + n; x' = x - a v', or x - a (c x + n + m v').
        const double x_n = nesterov ? -a * (1 + m) : -a;
        const double step_matrix[2][2] = {{1 + x_n * c, nesterov ? -a * m * m : -a * m}, {c, m}};
        const double noise[2] = {x_n, 1};
        double next[2][2] = {};
        for (int r = 0; r < 2; ++r) {
          for (int s = 0; s < 2; ++s) {
            next[r][s] = noise[r] * noise[s] * h / batch;
            for (int p = 0; p < 2; ++p) {
              for (int q = 0; q < 2; ++q) next[r][s] += step_matrix[r][p] * covariance[i][p][q] * step_matrix[s][q];
            }
          }
        }
        std::copy(&next[0][0], &next[0][0] + 4, &covariance[i][0][0]);
        loss += 0.5 * h * next[0][0];
      }
      EXPECT_NEAR(moments.loss() / loss, 1, 1e-12) << "nesterov " << nesterov << ", step " << step;
    }
  }
}

TEST(QuadraticTest, ALinearScheduleLowersTheRateUntilItsEnd) {
  TrialRun run = MakeRun("sgd", 1024, 0.5, 400);
  run.schedule = "linear";
  run.parameters.push_back({"learning_rate_decay_steps", 100});
  run.parameters.push_back({"end_learning_rate_factor", 0.1});
  run.grid.every = 200;  // The second gap is long enough for the closed form.
  SecondMoments expected({.batch_size = 1024});
  for (int step = 0; step < 400; ++step) {
    expected.SetRate(step < 100 ? 0.5 * (1 - 0.9 * step / 100) : 0.05);
    expected.Step();
  }
  EXPECT_NEAR(Train(run).values.back().back() / expected.loss(), 1, 1e-12);
}

TEST(QuadraticTest, TheSameRunGivesTheSameBits) {
  const TrialRun run = MakeRun("momentum", 64, 0.1, 300);
  EXPECT_EQ(Train(run).values, Train(run).values);
}

TEST(QuadraticTest, SplitsAreReportedAtTheirIntervalsAndWhereAGoalIsFirstCrossed) {
  TrialRun run = MakeRun("sgd", 1024, 1.0, 10);
  run.split_intervals = {{"val", 1}, {"train", 4}};
  run.goals = {{"val/loss", Goal::Comparison::kLess, Train(run).values[6][1]}};  // Past it from step 7.
  const Outcome outcome = Train(run);
  for (size_t i = 0; i < outcome.steps.size(); ++i) {
    EXPECT_EQ(std::isnan(outcome.values[i][0]), !(i % 4 == 0 || i == 7)) << "step " << i;
    EXPECT_FALSE(std::isnan(outcome.values[i][1])) << "step " << i;
  }
}

TEST(QuadraticTest, StopsBetweenEvaluationsWhenTold) {
  TrialRun run = MakeRun("momentum", 1024, 1e-3, 1'000'000);
  run.grid.every = 1'000'000;
  int looks = 0;
  const Outcome outcome = Train(run, [&looks] { return ++looks > 5; });
  EXPECT_EQ(outcome.end.kind, RunEnd::Kind::kStopped);
  EXPECT_EQ(outcome.end.last_step, 0);
}

struct Refusal {
  std::string name;
  std::function<void(TrialRun&)> change;
  std::string message;
};

class RefusalTest : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusalTest, ARunThatItCannotRunIsTheTrialsFault) {
  TrialRun run = MakeRun("sgd", 1024, 0.1, 10);
  GetParam().change(run);
  const Outcome outcome = Train(run);
  EXPECT_EQ(outcome.end.kind, RunEnd::Kind::kTrialError);
  EXPECT_THAT(outcome.end.message, HasSubstr(GetParam().message));
  EXPECT_TRUE(outcome.steps.empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    ::testing::Values(Refusal{"Model", [](TrialRun& run) { run.workload.model = "fc_64"; }, "model is fc_64"},
                      Refusal{"Optimizer", [](TrialRun& run) { run.workload.optimizer = "adam"; }, "optimizer is adam"},
                      Refusal{"Schedule", [](TrialRun& run) { run.schedule = "cosine"; }, "schedule is cosine"},
                      Refusal{"Rate", [](TrialRun& run) { run.parameters.clear(); }, "learning_rate"},
                      Refusal{"Metric", [](TrialRun& run) { run.metrics = {"val/classification_error"}; },
                              "metric is val/"},
                      Refusal{"Clip",
                              [](TrialRun& run) {
                                run.parameters.push_back({"gradient_clip", 1});
                              },
                              "gradient_clip"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
