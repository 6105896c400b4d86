// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepcurve {

struct UpdateFactors {
  float rate = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

// One step of Optimizer for `n` values in memory: x the parameters, v their velocities (nullptr: no momentum), g their
// gradients. One pass instead of one an operation: at small batch sizes a step is bound by memory. Rounds as PyTorch's
// operations do on a CPU with AVX2, so the results are theirs to the last bit.
void FusedUpdate(float* x, float* v, const float* g, int64_t n, const UpdateFactors& factors);

}  // namespace stepcurve
