// SPDX-License-Identifier: Apache-2.0
#include "worker/training/train.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/support/evaluation_grid.h"
#include "proto/support/status_macros.h"
#include "worker/training/batch_sampler.h"
#include "worker/training/evaluation.h"
#include "worker/training/gradient.h"
#include "worker/training/loss_log.h"
#include "worker/training/measurement_plan.h"
#include "worker/training/optimizer.h"
#include "worker/training/schedule.h"

namespace stepcurve {
namespace {

constexpr absl::Duration kDivergenceCheck = absl::Seconds(1);

// What a run names, looked up.
struct Recipe {
  Schedule schedule;
  OptimizerSettings optimizer;
  MeasurementPlan plan;
};

absl::StatusOr<Recipe> MakeRecipe(const TrialRun& run, const ImageData& data) {
  if (run.batch_size < 1 || run.batch_size > data.train.size()) {
    return absl::InvalidArgumentError(absl::StrCat("batch size is ", run.batch_size, "; the training set of ",
                                                   data.name, " allows 1 to ", data.train.size()));
  }
  if (run.precision != "float32") {
    return absl::InvalidArgumentError(absl::StrCat("precision is ", run.precision, "; this trainer has float32"));
  }
  STEPCURVE_ASSIGN_OR_RETURN(const Schedule schedule, MakeSchedule(run));
  STEPCURVE_ASSIGN_OR_RETURN(const OptimizerSettings optimizer, MakeOptimizerSettings(run));
  STEPCURVE_ASSIGN_OR_RETURN(MeasurementPlan plan, MeasurementPlan::Make(run));
  return Recipe{schedule, optimizer, std::move(plan)};
}

// Gives the time since the last call to one account or another.
class Stopwatch final {
 public:
  explicit Stopwatch(const Clock* clock) : clock_(clock), mark_(clock->Now()) {}

  void AddTo(double& seconds) {
    const absl::Time now = clock_->Now();
    seconds += std::max(0.0, absl::ToDoubleSeconds(now - mark_));
    mark_ = now;
  }
  absl::Time mark() const { return mark_; }

 private:
  const Clock* clock_;
  absl::Time mark_;
};

}  // namespace

RunEnd Train(const TrialRun& run, const ImageData& data, const Model& model, const TrialSink& sink,
             const TrainOptions& options) {
  absl::StatusOr<Recipe> recipe = MakeRecipe(run, data);
  if (!recipe.ok()) {
    return {.kind = RunEnd::Kind::kWorkerError,
            .before_first_step = true,
            .message = std::string(recipe.status().message())};
  }
  const Schedule& schedule = recipe->schedule;
  MeasurementPlan& plan = recipe->plan;
  const std::array<Examples, kSplits.size()> examples = {TrainSample(data, run.train_examples), data.val, data.test};
  const at::Device device = data.train.labels.device();
  const double clip = run.Parameter("gradient_clip", 0);
  const GradientOptions gradient = {
      .label_smoothing = run.Parameter("label_smoothing", 0),
      .pass_examples = options.pass_examples > 0 ? options.pass_examples : model.pass_examples()};

  BatchSampler sampler(
      {.examples = data.train.size(), .batch_size = run.batch_size, .seed = run.training_seed, .device = device});
  Optimizer optimizer(recipe->optimizer, model.parameters());
  LossLog losses(device);
  Stopwatch stopwatch(options.clock);
  absl::Time last_check = stopwatch.mark();
  double train_seconds = 0;
  double eval_seconds = 0;
  RunEnd end;
  const auto ended = [&](RunEnd::Kind kind, int64_t step) {
    end.kind = kind;
    end.step = step;
    return end;
  };

  const auto evaluate = [&](const std::vector<Split>& splits, std::vector<double>& values) {
    for (const Split split : splits) {
      const std::optional<Score> score =
          Evaluate(model, examples[static_cast<size_t>(split)], model.pass_examples(), sink.should_stop);
      if (!score.has_value()) return false;
      plan.Fill(split, *score, values);
    }
    return true;
  };

  std::optional<int64_t> next_evaluation = 0;
  for (int64_t step = 0, evaluation = 0;; ++step) {  // `step` updates have been made.
    if (step == next_evaluation) {
      const std::optional<int64_t> non_finite = losses.FirstNonFinite();  // Waits for the device.
      stopwatch.AddTo(train_seconds);
      last_check = stopwatch.mark();
      if (non_finite.has_value()) return ended(RunEnd::Kind::kDiverged, *non_finite);

      std::vector<double> values = plan.Empty();
      if (!evaluate(plan.Due(evaluation), values)) return ended(RunEnd::Kind::kStopped, 0);
      if (plan.CrossesGoal(values)) {
        if (!evaluate(plan.Skipped(evaluation), values)) return ended(RunEnd::Kind::kStopped, 0);
        plan.CrossesGoal(values);
      }
      stopwatch.AddTo(eval_seconds);
      sink.measured(step, values, train_seconds, eval_seconds);
      end.last_step = step;
      next_evaluation = NextEvaluation(run.grid, run.budget_steps, step);
      ++evaluation;
    }
    if (step == run.budget_steps) return ended(RunEnd::Kind::kComplete, 0);
    if (sink.should_stop()) return ended(RunEnd::Kind::kStopped, 0);

    const std::optional<at::Tensor> loss =
        ComputeGradient(model, data.train, sampler.Next(), gradient, sink.should_stop);
    if (!loss.has_value()) return ended(RunEnd::Kind::kStopped, 0);
    if (clip > 0) ClipGradient(model, clip);
    optimizer.Step(LearningRate(schedule, step));
    losses.Add(*loss);

    if (losses.full() || options.clock->Now() - last_check >= kDivergenceCheck) {
      last_check = options.clock->Now();
      if (const auto non_finite = losses.FirstNonFinite()) return ended(RunEnd::Kind::kDiverged, *non_finite);
    }
    sink.progress(step + 1);
  }
}

}  // namespace stepcurve
