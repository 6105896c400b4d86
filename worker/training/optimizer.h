// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

struct OptimizerEntry {
  absl::string_view name;  // As in the catalogue.
  bool momentum;
  bool nesterov;
};

absl::Span<const OptimizerEntry> OptimizerEntries();

struct OptimizerSettings {
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

// The settings of the optimizer that a run names. INVALID_ARGUMENT lists the optimizers when there is none of the name.
absl::StatusOr<OptimizerSettings> MakeOptimizerSettings(const TrialRun& run);

// Gradient descent as PyTorch writes it, with g the gradient, x the parameter, v its velocity (0 at first), m the
// momentum, w the weight decay and r the rate of the step:
//   g <- g + w x;  v <- m v + g;  x <- x - r v            momentum (sgd: m = 0)
//                                 x <- x - r (g + m v)    nesterov_momentum
class Optimizer final {
 public:
  Optimizer(const OptimizerSettings& settings, const std::vector<at::Tensor>& parameters);

  // Takes one step along the parameters' grad(), which it clears.
  void Step(double rate);

 private:
  void StepFused(double rate);
  void StepForeach(double rate);

  const OptimizerSettings settings_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> velocities_;  // Empty without momentum.
  bool fused_;                          // float32 on the CPU.
};

}  // namespace stepcurve
