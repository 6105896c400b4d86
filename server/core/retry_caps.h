// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepcurve {

// Caps after which a trial is FAILED.
struct RetryCaps {
  int32_t crashes = 3;  // Deaths and errors of its own process.
  int32_t losses = 20;  // Started attempts whose session was lost.
};

}  // namespace stepcurve
