// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/strings/string_view.h"

namespace stepcurve {

// Sets spdlog's default logger of a daemon up: one line a message on stderr, time in UTC, `program` in front. Level
// from the environment variable STEPCURVE_LOG (debug, info, warn, error, off), info otherwise. Call once, first in
// main.
void SetUpLogging(absl::string_view program);

}  // namespace stepcurve
