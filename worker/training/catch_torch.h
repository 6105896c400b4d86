// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "absl/status/status.h"

namespace stepcurve {

// Runs `body` and makes a status of what it throws: RESOURCE_EXHAUSTED where memory ran out, INTERNAL otherwise. The
// one place that catches what Torch throws.
absl::Status CatchTorch(const std::function<void()>& body);

}  // namespace stepcurve
