// SPDX-License-Identifier: Apache-2.0
#include "worker/training/schedule.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace stepcurve {
namespace {

int64_t Steps(const TrialRun& run, const char* name, int64_t fallback) {
  return std::llround(run.Parameter(name, static_cast<double>(fallback)));
}

}  // namespace

absl::StatusOr<Schedule> MakeSchedule(const TrialRun& run) {
  Schedule schedule;
  schedule.initial = run.Parameter("learning_rate", 0);
  absl::string_view shape = run.schedule;
  if (absl::ConsumePrefix(&shape, "warmup_")) schedule.warmup_steps = Steps(run, "warmup_steps", 0);
  if (shape == "constant") return schedule;
  if (shape == "linear") {
    schedule.shape = Schedule::Shape::kLinear;
    schedule.decay_steps = Steps(run, "learning_rate_decay_steps", run.budget_steps - schedule.warmup_steps);
    schedule.end_factor = run.Parameter("end_learning_rate_factor", 0);
    return schedule;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("schedule is ", run.schedule, "; this trainer has constant and linear, each also with warmup_"));
}

double LearningRate(const Schedule& schedule, int64_t update) {
  if (update < schedule.warmup_steps) {
    return schedule.initial * static_cast<double>(update + 1) / static_cast<double>(schedule.warmup_steps);
  }
  if (schedule.shape == Schedule::Shape::kConstant) return schedule.initial;
  const int64_t t = update - schedule.warmup_steps;
  if (t >= schedule.decay_steps) return schedule.end_factor * schedule.initial;
  return schedule.initial - (1 - schedule.end_factor) * schedule.initial * static_cast<double>(t) /
                                static_cast<double>(schedule.decay_steps);
}

}  // namespace stepcurve
