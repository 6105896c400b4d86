// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/plot/plot_data.h"

namespace stepcurve {

struct PictureOptions {
  std::string file;     // Ends in .png, .svg or .pdf.
  bool script = false;  // Leave FILE's stem + .gnuplot and .dat beside it.
  std::string program = "gnuplot";
};

// Draws by gnuplot in a child process. Either all files are there afterwards or, on an error, none is new. NOT_FOUND
// says how to get gnuplot where there is none, INVALID_ARGUMENT that the file cannot be written or has another ending,
// INTERNAL what gnuplot said.
absl::Status DrawPicture(const StepsPlot& plot, const PictureOptions& options);

}  // namespace stepcurve
