// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/workloads/registry.h"

namespace stepcurve {

// "simple_cnn_base": two 5x5 convolutions with 32 and 64 filters (stride 1, same padding, ReLU), each with 2x2 max
// pooling, a fully connected layer of 1024 with ReLU, one output a class. narrow halves the three widths (16, 32, 512),
// wide doubles them (64, 128, 2048).
absl::StatusOr<std::unique_ptr<Model>> MakeSimpleCnn(const std::string& name, const ModelSettings& settings);

}  // namespace stepcurve
