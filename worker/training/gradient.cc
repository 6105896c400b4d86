// SPDX-License-Identifier: Apache-2.0
#include "worker/training/gradient.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

namespace stepcurve {
namespace {

at::Tensor MeanLoss(const Model& model, const Examples& examples, const at::Tensor& indices, double label_smoothing) {
  const at::Tensor logits = model.Logits(examples.images.index_select(0, indices));
  return at::cross_entropy_loss(logits, examples.labels.index_select(0, indices), /*weight=*/{}, at::Reduction::Mean,
                                /*ignore_index=*/-100, label_smoothing);
}

}  // namespace

std::optional<at::Tensor> ComputeGradient(const Model& model, const Examples& examples, const at::Tensor& batch,
                                          const GradientOptions& options, const std::function<bool()>& should_stop) {
  const int64_t size = batch.size(0);
  if (size <= options.pass_examples) {
    const at::Tensor loss = MeanLoss(model, examples, batch, options.label_smoothing);
    loss.backward();
    return loss.detach();
  }
  // Parts of equal size, give or take one, each weighed by its share of the batch; autograd adds the gradients up.
  const int64_t parts = (size + options.pass_examples - 1) / options.pass_examples;
  at::Tensor total;
  for (int64_t part = 0; part < parts; ++part) {
    if (part > 0 && should_stop()) return std::nullopt;
    const int64_t begin = size * part / parts;
    const int64_t end = size * (part + 1) / parts;
    const at::Tensor loss = MeanLoss(model, examples, batch.narrow(0, begin, end - begin), options.label_smoothing)
                                .mul(static_cast<double>(end - begin) / static_cast<double>(size));
    loss.backward();
    total = part == 0 ? loss.detach() : total.add_(loss.detach());
  }
  return total;
}

void ClipGradient(const Model& model, double max_norm) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad());
  }
  const at::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
  const at::Tensor factor = at::reciprocal(norm + 1e-6).mul_(max_norm).clamp_max_(1.0);
  for (at::Tensor& gradient : gradients) {
    gradient.mul_(factor);
  }
}

}  // namespace stepcurve
