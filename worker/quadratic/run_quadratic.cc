// SPDX-License-Identifier: Apache-2.0
#include "worker/quadratic/run_quadratic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "worker/quadratic/second_moments.h"

namespace stepcurve {
namespace {

constexpr int64_t kJumpFrom = 64;            // Below it stepping is cheaper.
constexpr int64_t kStepsBetweenLooks = 256;  // Under 3 ms.

struct Model {
  const char* name;
  int64_t coordinates;
};
constexpr Model kModels[] = {{"noisy_quadratic", 10'000}, {"noisy_quadratic_100", 100}};

struct Optimizer {
  const char* name;
  SecondMoments::Optimizer optimizer;
};
constexpr Optimizer kOptimizers[] = {{"sgd", SecondMoments::Optimizer::kSgd},
                                     {"momentum", SecondMoments::Optimizer::kMomentum},
                                     {"nesterov_momentum", SecondMoments::Optimizer::kNesterovMomentum}};

// Learning rate as a function of the updates done: constant from `decay_steps` on.
struct Schedule {
  double initial = 0;
  double end = 0;
  int64_t decay_steps = 0;

  double Rate(int64_t step) const {
    if (step >= decay_steps) return end;
    return initial - (initial - end) * static_cast<double>(step) / static_cast<double>(decay_steps);
  }
};

absl::StatusOr<Schedule> ScheduleOf(const TrialRun& run) {
  const double rate = run.Parameter("learning_rate", std::numeric_limits<double>::quiet_NaN());
  if (!(rate > 0)) return absl::InvalidArgumentError("learning_rate is missing or not above 0");
  if (run.schedule == "constant") return Schedule{.initial = rate, .end = rate};
  if (run.schedule == "linear") {
    const double decay_steps = run.Parameter("learning_rate_decay_steps", static_cast<double>(run.budget_steps));
    return Schedule{.initial = rate,
                    .end = rate * run.Parameter("end_learning_rate_factor", 0),
                    .decay_steps = static_cast<int64_t>(decay_steps)};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("schedule is ", run.schedule, "; the quadratic has constant and linear"));
}

absl::StatusOr<SecondMoments::Options> OptionsOf(const TrialRun& run) {
  const auto* model = std::find_if(std::begin(kModels), std::end(kModels),
                                   [&](const Model& row) { return row.name == run.workload.model; });
  if (model == std::end(kModels)) {
    return absl::InvalidArgumentError(absl::StrCat("model is ", run.workload.model, "; the quadratic's are ",
                                                   "noisy_quadratic and noisy_quadratic_100"));
  }
  const auto* optimizer = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                       [&](const Optimizer& row) { return row.name == run.workload.optimizer; });
  if (optimizer == std::end(kOptimizers)) {
    return absl::InvalidArgumentError(absl::StrCat("optimizer is ", run.workload.optimizer, "; the quadratic's are ",
                                                   "sgd, momentum and nesterov_momentum"));
  }
  for (const Metaparameter& parameter : run.parameters) {
    // A clipped gradient's second moments do not follow from second moments alone.
    if (parameter.name == "gradient_clip") return absl::InvalidArgumentError("the quadratic has no gradient_clip");
  }
  for (const std::string& metric : run.metrics) {
    if (!absl::EndsWith(metric, "/loss")) {
      return absl::InvalidArgumentError(
          absl::StrCat("metric is ", metric, "; the quadratic has train/loss and val/loss"));
    }
  }
  return SecondMoments::Options{.optimizer = optimizer->optimizer,
                                .coordinates = model->coordinates,
                                .batch_size = run.batch_size,
                                .momentum = run.Parameter("momentum", 0),
                                .weight_decay = run.Parameter("weight_decay", 0)};
}

// Chooses what is reported at each evaluation: every metric, or those of the listed splits at every n-th evaluation and
// wherever a declared goal is first crossed.
class Reporter final {
 public:
  explicit Reporter(const TrialRun& run) : run_(run), crossed_(run.goals.size()), values_(run.metrics.size()) {}

  // Values of the next evaluation; valid until the next call.
  const std::vector<double>& Values(double loss) {
    const bool crossing = Crosses(loss);
    for (size_t i = 0; i < values_.size(); ++i) {
      const int64_t every = Every(run_.metrics[i]);
      const bool due = every > 0 && (crossing || evaluation_ % every == 0);
      values_[i] = due ? loss : std::numeric_limits<double>::quiet_NaN();
    }
    ++evaluation_;
    return values_;
  }

 private:
  // Interval of the metric's split; 0: never.
  int64_t Every(const std::string& metric) const {
    if (run_.split_intervals.empty()) return 1;
    for (const auto& [split, every] : run_.split_intervals) {
      if (absl::StartsWith(metric, absl::StrCat(split, "/"))) return every;
    }
    return 0;
  }

  bool Crosses(double loss) {
    bool first = false;
    for (size_t i = 0; i < crossed_.size(); ++i) {
      if (crossed_[i] || !run_.goals[i].IsPast(loss)) continue;
      const int64_t every = Every(run_.goals[i].metric);
      if (every == 0 || evaluation_ % every != 0) continue;
      crossed_[i] = true;
      first = true;
    }
    return first;
  }

  const TrialRun& run_;
  std::vector<bool> crossed_;
  std::vector<double> values_;
  int64_t evaluation_ = 0;
};

class QuadraticTraining final {
 public:
  QuadraticTraining(const SecondMoments::Options& options, const Schedule& schedule, const TrialSink& sink)
      : moments_(options),
        sgd_(options.optimizer == SecondMoments::Optimizer::kSgd),
        schedule_(schedule),
        sink_(sink) {}

  int64_t step() const { return step_; }
  double loss() const { return moments_.loss(); }

  // Trains up to `target`, or to the first step whose loss is not finite. False when told to stop on the way.
  bool TrainTo(int64_t target) {
    while (step_ < target && std::isfinite(moments_.loss())) {
      moments_.SetRate(schedule_.Rate(step_));
      if (sgd_ && step_ >= schedule_.decay_steps && target - step_ >= kJumpFrom) {
        JumpTo(target);
        continue;
      }
      moments_.Step();
      ++step_;
      if (step_ % kStepsBetweenLooks == 0) {
        sink_.progress(step_);
        if (sink_.should_stop()) return false;
      }
    }
    return true;
  }

 private:
  // To `target`, or to the first step whose loss is not finite.
  void JumpTo(int64_t target) {
    int64_t left = target - step_;
    if (moments_.Jump(left)) {
      step_ = target;
      return;
    }
    // The loss overflows within `left` steps.
    while (left > 1) {
      const int64_t half = left / 2;
      if (moments_.Jump(half)) {
        step_ += half;
        left -= half;
      } else {
        left = half;
      }
    }
    moments_.Step();
    ++step_;
  }

  SecondMoments moments_;
  const bool sgd_;
  const Schedule schedule_;
  const TrialSink& sink_;
  int64_t step_ = 0;
};

RunEnd Invalid(const absl::Status& status) {
  return {.kind = RunEnd::Kind::kTrialError, .message = std::string(status.message())};
}

}  // namespace

std::vector<std::string> QuadraticOptimizers() {
  std::vector<std::string> names;
  for (const Optimizer& optimizer : kOptimizers) {
    names.emplace_back(optimizer.name);
  }
  return names;
}

RunEnd RunQuadratic(const TrialRun& run, const TrialSink& sink, const Clock& clock) {
  const absl::StatusOr<Schedule> schedule = ScheduleOf(run);
  if (!schedule.ok()) return Invalid(schedule.status());
  const absl::StatusOr<SecondMoments::Options> options = OptionsOf(run);
  if (!options.ok()) return Invalid(options.status());

  const absl::Time started = clock.Now();
  QuadraticTraining training(*options, *schedule, sink);
  Reporter reporter(run);
  RunEnd end;
  for (std::optional<int64_t> next = 0; next.has_value(); next = NextEvaluation(run.grid, run.budget_steps, *next)) {
    if (sink.should_stop() || !training.TrainTo(*next)) {
      end.kind = RunEnd::Kind::kStopped;
      return end;
    }
    if (!std::isfinite(training.loss())) {
      end.kind = RunEnd::Kind::kDiverged;
      end.step = training.step();
      end.message = absl::StrCat("expected loss of step ", end.step, " is not finite");
      return end;
    }
    // Evaluating costs nothing here: an update yields the loss.
    sink.measured(*next, reporter.Values(training.loss()), absl::ToDoubleSeconds(clock.Now() - started), 0);
    end.last_step = *next;
  }
  return end;
}

}  // namespace stepcurve
