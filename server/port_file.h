// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace stepcurve {

// Writes the port as one line, so that whoever waits for the file never reads a part of it. INVALID_ARGUMENT where it
// cannot be written.
absl::Status WritePortFile(const std::string& path, int port);

}  // namespace stepcurve
