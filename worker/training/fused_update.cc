// SPDX-License-Identifier: Apache-2.0
#include "worker/training/fused_update.h"

// The compiler makes a version of each loop for CPUs with fused multiply-add, chosen when the program is
// loaded.
#if defined(__x86_64__) && defined(__GNUC__)
#define STEPCURVE_CLONES __attribute__((target_clones("default", "fma")))
#else
#define STEPCURVE_CLONES
#endif

namespace stepcurve {
namespace {

// Where PyTorch adds a multiple (alpha) it rounds once; where it multiplies and then adds, twice.
inline float AddMultiple(float a, float alpha, float b) { return __builtin_fmaf(alpha, b, a); }

STEPCURVE_CLONES void Sgd(float* __restrict x, const float* __restrict g, int64_t n, float rate, float decay) {
  for (int64_t i = 0; i < n; ++i) {
    x[i] = AddMultiple(x[i], -rate, AddMultiple(g[i], decay, x[i]));
  }
}

STEPCURVE_CLONES void Momentum(float* __restrict x, float* __restrict v, const float* __restrict g, int64_t n,
                               float rate, float momentum, float decay) {
  for (int64_t i = 0; i < n; ++i) {
    v[i] = momentum * v[i] + AddMultiple(g[i], decay, x[i]);
    x[i] = AddMultiple(x[i], -rate, v[i]);
  }
}

STEPCURVE_CLONES void Nesterov(float* __restrict x, float* __restrict v, const float* __restrict g, int64_t n,
                               float rate, float momentum, float decay) {
  for (int64_t i = 0; i < n; ++i) {
    const float gradient = AddMultiple(g[i], decay, x[i]);
    v[i] = momentum * v[i] + gradient;
    x[i] = AddMultiple(x[i], -rate, AddMultiple(gradient, momentum, v[i]));
  }
}

}  // namespace

void FusedUpdate(float* x, float* v, const float* g, int64_t n, const UpdateFactors& factors) {
  if (v == nullptr) {
    Sgd(x, g, n, factors.rate, factors.weight_decay);
  } else if (factors.nesterov) {
    Nesterov(x, v, g, n, factors.rate, factors.momentum, factors.weight_decay);
  } else {
    Momentum(x, v, g, n, factors.rate, factors.momentum, factors.weight_decay);
  }
}

}  // namespace stepcurve
