// SPDX-License-Identifier: Apache-2.0
#include "worker/training/loss_log.h"

#include <cmath>

#include <ATen/ATen.h>

namespace stepcurve {

LossLog::LossLog(at::Device device)
    : losses_(at::zeros({kCapacity}, at::TensorOptions().dtype(at::kDouble).device(device))) {}

void LossLog::Add(const at::Tensor& loss) { losses_.select(0, noted_++).copy_(loss, /*non_blocking=*/true); }

std::optional<int64_t> LossLog::FirstNonFinite() {
  const at::Tensor losses = losses_.narrow(0, 0, noted_).cpu();
  const int64_t first = steps_before_ + 1;
  steps_before_ += noted_;
  noted_ = 0;
  const double* values = losses.data_ptr<double>();
  for (int64_t i = 0; i < losses.numel(); ++i) {
    if (!std::isfinite(values[i])) return first + i;
  }
  return std::nullopt;
}

}  // namespace stepcurve
