// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/render/rows.h"
#include "stepcurve/v1/curve_service.pb.h"

namespace stepcurve {

// One batch size of a drawn curve. The truth lies in (previous_step, steps].
struct PlotPoint {
  int64_t batch_size = 0;
  bool reached = false;
  int64_t steps = 0;
  int64_t previous_step = -1;
};

// One curve of a plot of steps to result against batch size.
struct PlotSeries {
  std::string workload;
  std::string goal;
  std::string sweeps;
  std::string label;              // What tells it from the others.
  std::vector<PlotPoint> points;  // By batch size, ascending.

  // The smallest batch size that reached the goal in at least one step, where perfect scaling is anchored; nullptr if
  // none did.
  const PlotPoint* Anchor() const;
  // Steps at a batch size, were the examples always as many as at the anchor. There is an anchor.
  double Perfect(int64_t batch_size) const;
};

// What is drawn, and over which ranges; all of them above 0, as both axes are logarithmic.
struct StepsPlot {
  std::string title;
  std::string subtitle;
  std::vector<PlotSeries> series;
  double x_min = 1;
  double x_max = 2;
  double y_min = 1;
  double y_max = 2;
};

// Points reached at step 0 have no place on the axes and are left out, as are curves' provisional claims about what
// trials to come may do.
StepsPlot MakeStepsPlot(const std::vector<v1::Curve>& curves);

// The data as rows: workload, goal, sweeps, batch_size, steps, previous_step, perfect.
void PrintPlotRows(const StepsPlot& plot, Format format, std::ostream* out);

}  // namespace stepcurve
