// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "client/plot/plot_data.h"

namespace stepcurve {

// The plot in characters, for a terminal of that size: series as joined letters, perfect scaling dotted, batch sizes
// that did not reach the goal as x on the axis.
std::string TextPlot(const StepsPlot& plot, int columns, int rows);

}  // namespace stepcurve
