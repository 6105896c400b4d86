// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/workloads/registry.h"

namespace stepcurve {

// "fc_WIDTH[_WIDTH...]": hidden layers of these widths with ReLU, then one output a class.
absl::StatusOr<std::unique_ptr<Model>> MakeFullyConnected(const std::string& name, const ModelSettings& settings);

}  // namespace stepcurve
