// SPDX-License-Identifier: Apache-2.0
#include "worker/training/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/training/fused_update.h"

namespace stepcurve {
namespace {

constexpr OptimizerEntry kOptimizers[] = {
    {"sgd", false, false},
    {"momentum", true, false},
    {"nesterov_momentum", true, true},
};

}  // namespace

absl::Span<const OptimizerEntry> OptimizerEntries() { return kOptimizers; }

absl::StatusOr<OptimizerSettings> MakeOptimizerSettings(const TrialRun& run) {
  for (const OptimizerEntry& entry : kOptimizers) {
    if (entry.name != run.workload.optimizer) continue;
    return OptimizerSettings{.momentum = entry.momentum ? run.Parameter("momentum", 0) : 0,
                             .nesterov = entry.nesterov,
                             .weight_decay = run.Parameter("weight_decay", 0)};
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "optimizer is ", run.workload.optimizer, "; this trainer has ",
      absl::StrJoin(kOptimizers, ", ",
                    [](std::string* out, const OptimizerEntry& entry) { absl::StrAppend(out, entry.name); })));
}

Optimizer::Optimizer(const OptimizerSettings& settings, const std::vector<at::Tensor>& parameters)
    : settings_(settings), fused_(true) {
  at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : parameters) {
    parameters_.push_back(parameter);
    if (settings.momentum != 0) velocities_.push_back(at::zeros_like(parameter));
    fused_ = fused_ && parameter.is_cpu() && parameter.scalar_type() == at::kFloat;
  }
}

void Optimizer::Step(double rate) {
  at::NoGradGuard no_grad;
  if (fused_) {
    StepFused(rate);
  } else {
    StepForeach(rate);
  }
  for (at::Tensor& parameter : parameters_) {
    parameter.mutable_grad().reset();
  }
}

void Optimizer::StepFused(double rate) {
  const UpdateFactors factors = {.rate = static_cast<float>(rate),
                                 .momentum = static_cast<float>(settings_.momentum),
                                 .weight_decay = static_cast<float>(settings_.weight_decay),
                                 .nesterov = settings_.nesterov};
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const at::Tensor gradient = parameters_[p].grad().contiguous();
    float* x = parameters_[p].data_ptr<float>();
    float* v = velocities_.empty() ? nullptr : velocities_[p].data_ptr<float>();
    const float* g = gradient.data_ptr<float>();
    constexpr int64_t kGrain = 1 << 15;
    at::parallel_for(0, gradient.numel(), kGrain, [&](int64_t begin, int64_t end) {
      FusedUpdate(x + begin, v == nullptr ? nullptr : v + begin, g + begin, end - begin, factors);
    });
  }
}

void Optimizer::StepForeach(double rate) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    gradients.push_back(parameter.grad());
  }
  if (settings_.weight_decay != 0) at::_foreach_add_(gradients, parameters_, settings_.weight_decay);
  if (velocities_.empty()) {
    at::_foreach_add_(parameters_, gradients, -rate);
    return;
  }
  at::_foreach_mul_(velocities_, settings_.momentum);
  at::_foreach_add_(velocities_, gradients);
  if (settings_.nesterov) {
    at::_foreach_add_(gradients, velocities_, settings_.momentum);
    at::_foreach_add_(parameters_, gradients, -rate);
  } else {
    at::_foreach_add_(parameters_, velocities_, -rate);
  }
}

}  // namespace stepcurve
