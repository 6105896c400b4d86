// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/plot/plot_data.h"

namespace stepcurve {

// The data as gnuplot reads it: two blocks per series, separated by two empty lines. Reached batch sizes with steps,
// the ends of the bracket and perfect scaling; then the batch sizes that did not reach the goal.
std::string GnuplotData(const StepsPlot& plot);

// A script that draws `data_file` into `picture_file`, both in the folder in which gnuplot runs. The picture's
// extension, png, svg or pdf, says how; INVALID_ARGUMENT for another.
absl::StatusOr<std::string> GnuplotScript(const StepsPlot& plot, absl::string_view picture_file,
                                          absl::string_view data_file);

}  // namespace stepcurve
