// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <ATen/core/Tensor.h>

#include "worker/data/image_data.h"
#include "worker/training/model.h"

namespace stepcurve {

struct GradientOptions {
  double label_smoothing = 0;
  int64_t pass_examples = 1;  // A larger batch is taken in parts of at most so many examples.
};

// Puts the gradient of the mean cross entropy over the whole batch, however it is taken in parts, into the grad() of
// the model's parameters, which must have none, and returns that mean: a scalar on the device, not waited for. nullopt
// when `should_stop` said so between two parts; the gradients then mean nothing.
std::optional<at::Tensor> ComputeGradient(const Model& model, const Examples& examples, const at::Tensor& batch,
                                          const GradientOptions& options, const std::function<bool()>& should_stop);

// Scales the gradients so that the norm of all together is at most `max_norm`, as PyTorch's clip_grad_norm_ does.
void ClipGradient(const Model& model, double max_norm);

}  // namespace stepcurve
