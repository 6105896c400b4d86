// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "stepcurve/v1/curve_service.pb.h"
#include "stepcurve/v1/sweep.pb.h"

namespace stepcurve {

// The screen of `watch`: at most `rows` lines of at most `columns` characters. `curves` are those of the sweep's first
// goal, as far as they have been asked for.
std::vector<std::string> WatchScreen(const v1::Progress& progress, const std::vector<v1::Curve>& curves, int columns,
                                     int rows);

// The same on one line, for logs.
std::string WatchLine(const v1::Progress& progress);

}  // namespace stepcurve
