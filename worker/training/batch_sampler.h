// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "proto/support/hash.h"

namespace stepcurve {

// The batches of a run: the training set in one random order after another. Within an epoch no example comes twice; the
// last, short batch of an epoch is filled from the next one's order, so that every batch has exactly its size. The
// orders are drawn on the host, so they depend on the seed alone, and are copied to the device once an epoch.
class BatchSampler final {
 public:
  struct Options {
    int64_t examples = 1;    // In the training set.
    int64_t batch_size = 1;  // 1 to `examples`.
    uint64_t seed = 0;
    at::Device device = at::kCPU;
  };
  explicit BatchSampler(const Options& options);

  // Indices of the next batch, int64 [batch_size] on the device.
  at::Tensor Next();

 private:
  const Options options_;
  SplitMix64 random_;
  at::Tensor order_;  // What is left of the epoch before it, then an epoch.
  int64_t position_ = 0;
};

}  // namespace stepcurve
