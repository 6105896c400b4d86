// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace stepcurve {

// Whether a server could listen at HOST:PORT (port 0: any) now. INVALID_ARGUMENT: it is no such address, or not this
// machine's. UNAVAILABLE: the port is taken. Tells what gRPC only logs.
absl::Status CheckListenAddress(const std::string& address);

}  // namespace stepcurve
