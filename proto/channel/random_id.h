// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stepcurve {

// 128 bits from the kernel as 32 lower-case hex digits: request ids and session keys. Thread-safe.
std::string RandomId();

}  // namespace stepcurve
