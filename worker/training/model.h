// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace stepcurve {

// A classifier with its weights: what the loop trains and evaluates. One thread at a time.
class Model {
 public:
  virtual ~Model() = default;

  // Unnormalised scores of the classes, [n, classes], for images [n, pixels]. Takes part in autograd unless it is off.
  virtual at::Tensor Logits(const at::Tensor& images) const = 0;

  // Everything that is trained, in the order weight, bias of each layer from the input on; each requires a gradient.
  virtual const std::vector<at::Tensor>& parameters() const = 0;

  // How many examples one pass should take at most: more are split, so that what a pass keeps stays in reasonable
  // memory.
  virtual int64_t pass_examples() const = 0;
};

}  // namespace stepcurve
