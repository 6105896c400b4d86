// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/initial_weights.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "absl/strings/str_cat.h"

namespace stepcurve {

InitialWeights::InitialWeights(const ModelSettings& settings)
    : settings_(settings), random_(Fnv1a64(absl::StrCat(settings.seed, "|weights"))) {}

void InitialWeights::AddLinear(int64_t inputs, int64_t outputs) { Add({outputs, inputs}, inputs, outputs); }

void InitialWeights::AddConvolution(int64_t inputs, int64_t outputs, int64_t side) {
  Add({outputs, inputs, side, side}, inputs * side * side, outputs * side * side);
}

void InitialWeights::Add(std::vector<int64_t> shape, int64_t fan_in, int64_t fan_out) {
  const double limit = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  at::Tensor weight = at::empty(shape, at::kFloat);
  float* values = weight.data_ptr<float>();
  for (int64_t i = 0; i < weight.numel(); ++i) {
    values[i] = static_cast<float>(limit * (2 * random_.NextUniform() - 1));
  }
  const at::TensorOptions options = at::TensorOptions().dtype(settings_.type).device(settings_.device);
  parameters_.push_back(weight.to(options).requires_grad_(true));
  parameters_.push_back(at::zeros({shape[0]}, options).requires_grad_(true));
}

}  // namespace stepcurve
