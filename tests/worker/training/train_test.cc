// SPDX-License-Identifier: Apache-2.0
#include "worker/training/train.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/training/small_run.h"
#include "worker/training/batch_sampler.h"
#include "worker/training/device.h"
#include "worker/workloads/registry.h"

namespace stepcurve {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Kind = RunEnd::Kind;

std::unique_ptr<Model> Fresh(const std::string& name) { return std::move(MakeModel(name, {.seed = 1})).value(); }

// Same doubles, NaN equal to NaN.
bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
         });
}

bool SameMeasurements(const Report& a, const Report& b) {
  return a.rows.size() == b.rows.size() &&
         std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), [](const Report::Row& x, const Report::Row& y) {
           return x.step == y.step && SameBits(x.values, y.values);
         });
}

TEST(TrainTest, EvaluatesAtTheGridFromStepZeroToTheBudget) {
  TrialRun run = SmallRun();
  run.budget_steps = 13;
  const Report report = TrainHere(run);
  EXPECT_EQ(report.end.kind, Kind::kComplete);
  EXPECT_EQ(report.end.last_step, 13);
  EXPECT_THAT(report.steps(), ElementsAre(0, 5, 10, 13));
  for (const Report::Row& row : report.rows) {
    ASSERT_EQ(row.values.size(), 6u);
    for (const double value : row.values) EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_NEAR(report.rows[0].values[3], std::log(10), 0.5);  // Knows nothing yet.
}

TEST(TrainTest, ShortRunLearns) {
  TrialRun run = SmallRun();
  run.budget_steps = 300;
  run.grid.every = 300;
  run.batch_size = 64;
  for (const auto& [model, optimizer, rate] : {std::tuple{"fc_64", "sgd", 0.2}, std::tuple{"fc_64", "momentum", 0.02},
                                               std::tuple{"simple_cnn_narrow", "nesterov_momentum", 0.02}}) {
    if (std::string(model) != "fc_64") run.budget_steps = 60;
    run.workload.model = model;
    run.workload.optimizer = optimizer;
    run.parameters = {{"learning_rate", rate}, {"momentum", 0.9}};
    const Report report = TrainHere(run);
    EXPECT_GT(report.rows.front().values[2], 0.6) << model << optimizer;
    EXPECT_LT(report.rows.back().values[2], 0.35) << model << optimizer;
    EXPECT_LT(report.rows.back().values[3], 1.0) << model << optimizer;
  }
}

TEST(TrainTest, SameSeedAndThreadsGiveTheSameBits) {
  TrialRun run = SmallRun();
  run.workload.model = "simple_cnn_narrow";
  run.workload.optimizer = "nesterov_momentum";
  run.parameters = {{"learning_rate", 0.02}, {"momentum", 0.9}, {"label_smoothing", 0.1}, {"gradient_clip", 1}};
  std::vector<Report> reports(3);
  for (size_t i = 0; i < reports.size(); ++i) {
    // In threads of their own, as slots are.
    std::thread([&] {
      UseThreads(2);
      run.training_seed = i < 2 ? 1 : 2;
      reports[i] = TrainHere(run);
    }).join();
  }
  EXPECT_TRUE(SameMeasurements(reports[0], reports[1]));
  EXPECT_FALSE(SameMeasurements(reports[0], reports[2]));
}

TEST(TrainTest, WholeTrainingSetIsABatchSize) {
  TrialRun run = SmallRun();
  run.batch_size = SmallFashion().train.size();
  run.budget_steps = 3;
  EXPECT_EQ(TrainHere(run).end.kind, Kind::kComplete);
  run.batch_size += 1;
  const Report refused = TrainHere(run);
  EXPECT_EQ(refused.end.kind, Kind::kWorkerError);
  EXPECT_TRUE(refused.end.before_first_step);
  EXPECT_THAT(refused.end.message, HasSubstr("batch size is 2001"));
  EXPECT_THAT(refused.rows, IsEmpty());
}

TEST(TrainTest, PartsOfABatchChangeMeasurementsByRoundingOnly) {
  TrialRun run = SmallRun();
  run.batch_size = 100;
  run.parameters = {{"learning_rate", 0.1}, {"weight_decay", 0.01}};
  const Report whole = TrainHere(run, *Fresh("fc_16"), {.pass_examples = 100});
  const Report parts = TrainHere(run, *Fresh("fc_16"), {.pass_examples = 7});
  for (size_t i = 0; i < whole.rows.size(); ++i) {
    EXPECT_NEAR(parts.rows[i].values[3], whole.rows[i].values[3], 1e-4);
  }
}

// Passes that take part in autograd are training; loss number `poisoned_` of them becomes NaN.
class Poisoned final : public Model {
 public:
  explicit Poisoned(int64_t poisoned) : poisoned_(poisoned), inner_(Fresh("fc_1")) {}

  at::Tensor Logits(const at::Tensor& images) const override {
    const at::Tensor logits = inner_->Logits(images);
    if (!at::GradMode::is_enabled() || ++losses_ != poisoned_) return logits;
    return logits * std::numeric_limits<float>::infinity();
  }
  const std::vector<at::Tensor>& parameters() const override { return inner_->parameters(); }
  int64_t pass_examples() const override { return 1'000; }
  int64_t losses() const { return losses_; }

 private:
  const int64_t poisoned_;
  const std::unique_ptr<Model> inner_;
  mutable int64_t losses_ = 0;
};

class DivergenceTest : public ::testing::TestWithParam<int64_t> {};

TEST_P(DivergenceTest, IsReportedAtItsStepAndNothingAtOrPastIt) {
  for (const int64_t every : {1, 7, 1'000}) {
    TrialRun run = SmallRun();
    run.batch_size = 1;
    run.budget_steps = 600;
    run.grid.every = every;
    run.metrics = {"val/classification_error"};
    const Poisoned model(GetParam());
    const Report report = TrainHere(run, model);
    EXPECT_EQ(report.end.kind, Kind::kDiverged);
    EXPECT_EQ(report.end.step, GetParam());
    std::vector<int64_t> expected;
    for (int64_t step = 0; step < GetParam(); step += every) expected.push_back(step);
    EXPECT_EQ(report.steps(), expected);
    EXPECT_EQ(report.end.last_step, expected.back());
    EXPECT_LE(model.losses(), GetParam() + 256);  // Found soon, though not waited for.
  }
}

INSTANTIATE_TEST_SUITE_P(All, DivergenceTest, ::testing::Values(1, 2, 8, 255, 256, 257, 258, 512, 513, 599, 600));

// The first step whose loss is not finite when every loss is looked at as it comes; 0 when there is none.
int64_t DivergenceOfAPlainLoop(const TrialRun& run, double rate) {
  const std::unique_ptr<Model> model = Fresh(run.workload.model);
  BatchSampler sampler(
      {.examples = SmallFashion().train.size(), .batch_size = run.batch_size, .seed = run.training_seed});
  for (int64_t step = 1; step <= run.budget_steps; ++step) {
    const at::Tensor batch = sampler.Next();
    const at::Tensor loss = at::cross_entropy_loss(model->Logits(SmallFashion().train.images.index_select(0, batch)),
                                                   SmallFashion().train.labels.index_select(0, batch));
    if (!std::isfinite(loss.item<float>())) return step;
    loss.backward();
    at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : model->parameters()) {
      at::Tensor values = parameter;
      values.sub_(parameter.grad(), rate);
      parameter.mutable_grad().reset();
    }
  }
  return 0;
}

TEST(TrainTest, RealDivergenceHasTheStepThatAPlainLoopFinds) {
  for (const auto& [model, rate] :
       {std::pair{"fc_16", 1e10}, std::pair{"fc_16_16", 1e5}, std::pair{"fc_16_16_16", 1e5}}) {
    TrialRun run = SmallRun();
    run.workload.model = model;
    run.parameters = {{"learning_rate", rate}};
    run.grid.every = 1;
    const int64_t diverged = DivergenceOfAPlainLoop(run, rate);
    ASSERT_GT(diverged, 1) << model;
    const Report report = TrainHere(run);
    EXPECT_EQ(report.end.kind, Kind::kDiverged);
    EXPECT_EQ(report.end.step, diverged);
    EXPECT_EQ(report.end.last_step, diverged - 1);
  }
}

TEST(TrainTest, SkippedSplitsAreNaNButNotWhereAGoalIsFirstCrossed) {
  TrialRun run = SmallRun();
  run.budget_steps = 12;
  run.grid.every = 1;
  run.split_intervals = {{"val", 1}, {"train", 4}, {"test", 6}};
  const Report without_goal = TrainHere(run);
  int64_t crossing = -1;
  const double threshold = 2.0;  // Of the cross entropy on val, which starts above it.
  for (const Report::Row& row : without_goal.rows) {
    EXPECT_TRUE(std::isfinite(row.values[3]));
    EXPECT_EQ(std::isfinite(row.values[0]), row.step % 4 == 0) << row.step;
    EXPECT_EQ(std::isfinite(row.values[4]), row.step % 6 == 0) << row.step;
    if (crossing < 0 && row.values[3] < threshold) crossing = row.step;
  }
  ASSERT_GT(crossing, 0);
  ASSERT_NE(crossing % 6, 0) << "choose another threshold";

  run.goals = {{.metric = "val/cross_entropy_error", .threshold = threshold}};
  const Report with_goal = TrainHere(run);
  for (const Report::Row& row : with_goal.rows) {
    EXPECT_EQ(std::isfinite(row.values[4]), row.step % 6 == 0 || row.step == crossing) << row.step;
    EXPECT_EQ(std::isfinite(row.values[0]), row.step % 4 == 0 || row.step == crossing) << row.step;
  }
}

TEST(TrainTest, StopsWithinAStepWhenToldTo) {
  TrialRun run = SmallRun();
  run.batch_size = 1'000;
  run.grid = {.kind = EvaluationGrid::Kind::kAt};
  run.metrics = {"val/classification_error"};
  const Poisoned model(-1);  // Counts passes, poisons none.
  // Told to in the middle of the third step, which takes 100 passes.
  const Report report = TrainHere(run, model, {.pass_examples = 10}, [&] { return model.losses() >= 250; });
  EXPECT_EQ(report.end.kind, Kind::kStopped);
  EXPECT_EQ(model.losses(), 250);
  EXPECT_EQ(report.end.last_step, 0);
  EXPECT_THAT(report.steps(), ElementsAre(0));
}

// Moves on by a second whenever it is read.
class TickingClock final : public Clock {
 public:
  absl::Time Now() const override { return now_ += absl::Seconds(1); }

 private:
  mutable absl::Time now_ = absl::FromUnixSeconds(0);
};

TEST(TrainTest, TimesAddUpOverTheAttempt) {
  const TickingClock clock;
  const Report report = TrainHere(SmallRun(), *Fresh("fc_16"), {.clock = &clock});
  for (size_t i = 1; i < report.rows.size(); ++i) {
    EXPECT_GT(report.rows[i].train_seconds, report.rows[i - 1].train_seconds);
    EXPECT_GT(report.rows[i].eval_seconds, report.rows[i - 1].eval_seconds);
  }
}

TEST(TrainTest, WhatThisTrainerCannotDoIsNamed) {
  TrialRun precision = SmallRun();
  precision.precision = "bfloat16";
  TrialRun schedule = SmallRun();
  schedule.schedule = "cosine";
  TrialRun optimizer = SmallRun();
  optimizer.workload.optimizer = "lars";
  TrialRun metric = SmallRun();
  metric.metrics = {"val/loss"};
  for (const auto& [run, message] :
       {std::pair{precision, "precision is bfloat16"}, std::pair{schedule, "schedule is cosine"},
        std::pair{optimizer, "optimizer is lars"}, std::pair{metric, "metric is val/loss"}}) {
    const Report report = TrainHere(run);
    EXPECT_EQ(report.end.kind, Kind::kWorkerError);
    EXPECT_TRUE(report.end.before_first_step);
    EXPECT_THAT(report.end.message, HasSubstr(message));
    EXPECT_THAT(report.rows, IsEmpty());
  }
}

}  // namespace
}  // namespace stepcurve
