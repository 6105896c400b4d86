// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "proto/support/hash.h"
#include "worker/workloads/registry.h"

namespace stepcurve {

// Fresh parameters, layer after layer. Weights are uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010),
// biases 0. Drawn by our own generator on the host, so that they depend on the seed alone.
class InitialWeights final {
 public:
  explicit InitialWeights(const ModelSettings& settings);

  // Weight [outputs, inputs] and bias of a fully connected layer.
  void AddLinear(int64_t inputs, int64_t outputs);
  // Weight [outputs, inputs, side, side] and bias of a convolution.
  void AddConvolution(int64_t inputs, int64_t outputs, int64_t side);

  std::vector<at::Tensor> Take() { return std::move(parameters_); }

 private:
  void Add(std::vector<int64_t> shape, int64_t fan_in, int64_t fan_out);

  const ModelSettings settings_;
  SplitMix64 random_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace stepcurve
