// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/support/clock.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// The built-in workload without data and with exact answers: dataset quadratic, models noisy_quadratic (10,000
// coordinates) and noisy_quadratic_100; every metric is the expected loss.
inline constexpr absl::string_view kQuadraticDataset = "quadratic";

// What RunQuadratic can run, as workers announce it: the family of its models, and its optimizers.
inline constexpr absl::string_view kQuadraticModel = "noisy_quadratic";
std::vector<std::string> QuadraticOptimizers();

// Trains `run` on the calling thread. Diverged means that the expected loss of that step overflowed; it is the first
// such step even where the evaluation grid passes it over.
RunEnd RunQuadratic(const TrialRun& run, const TrialSink& sink, const Clock& clock);

}  // namespace stepcurve
