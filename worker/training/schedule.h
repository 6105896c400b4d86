// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// Learning rate as a function of the update.
struct Schedule {
  enum class Shape { kConstant, kLinear };
  Shape shape = Shape::kConstant;
  double initial = 0;
  int64_t warmup_steps = 0;
  int64_t decay_steps = 0;  // kLinear: counted from the end of warm-up.
  double end_factor = 0;    // kLinear.
};

// The schedule that a run names, with its parameters. INVALID_ARGUMENT when there is none of the name.
absl::StatusOr<Schedule> MakeSchedule(const TrialRun& run);

// Rate of update `update`, counted from 0. Warm-up of W updates: r0 (u + 1) / W for u < W, then the shape at t = u - W.
// Linear: r0 - (1 - a) r0 t / T for t <= T, then a r0.
double LearningRate(const Schedule& schedule, int64_t update);

}  // namespace stepcurve
