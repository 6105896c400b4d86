// SPDX-License-Identifier: Apache-2.0
#include "worker/training/evaluation.h"

#include <algorithm>

#include <ATen/ATen.h>

namespace stepcurve {

std::optional<Score> Evaluate(const Model& model, const Examples& examples, int64_t pass_examples,
                              const std::function<bool()>& should_stop) {
  at::NoGradGuard no_grad;
  const at::Device device = examples.labels.device();
  at::Tensor wrong = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device));
  at::Tensor loss_sum = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
  for (int64_t begin = 0; begin < examples.size(); begin += pass_examples) {
    if (begin > 0 && should_stop()) return std::nullopt;
    const int64_t count = std::min(pass_examples, examples.size() - begin);
    const at::Tensor labels = examples.labels.narrow(0, begin, count);
    const at::Tensor logits = model.Logits(examples.images.narrow(0, begin, count));
    const at::Tensor losses = at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::None);
    wrong += logits.argmax(1).ne(labels).logical_or_(losses.isnan()).sum();
    loss_sum += losses.sum(at::kDouble);
  }
  return Score{.wrong = wrong.item<int64_t>(), .total = examples.size(), .cross_entropy_sum = loss_sum.item<double>()};
}

}  // namespace stepcurve
