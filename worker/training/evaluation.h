// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "worker/data/image_data.h"
#include "worker/training/model.h"

namespace stepcurve {

// How a model does on a set of examples.
struct Score {
  int64_t wrong = 0;
  int64_t total = 0;
  double cross_entropy_sum = 0;  // In nats, over all examples.

  // One division in double, so that 500 of 5,000 is exactly the double 0.1.
  double classification_error() const { return static_cast<double>(wrong) / static_cast<double>(total); }
  double cross_entropy_error() const { return cross_entropy_sum / static_cast<double>(total); }
};

// An example is wrong when the largest score is another class's (of equal ones the first counts) or when its loss is
// NaN. Without gradients, in parts of at most `pass_examples`; waits for the device once, at the end. nullopt when
// `should_stop` said so between two parts.
std::optional<Score> Evaluate(const Model& model, const Examples& examples, int64_t pass_examples,
                              const std::function<bool()>& should_stop);

}  // namespace stepcurve
