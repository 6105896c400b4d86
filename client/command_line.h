// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "client/environment.h"

namespace stepcurve {

// Runs the program with its arguments (without its own name) and returns its exit status: 0 done, 1 failed, 2 fix the
// request, 3 try again.
int RunCommandLine(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace stepcurve
