// SPDX-License-Identifier: Apache-2.0
#include "client/plot/plot_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/render/curve_view.h"
#include "client/render/figures.h"

namespace stepcurve {
namespace {

// Empty unless all curves agree.
template <typename Text>
std::string Common(const std::vector<v1::Curve>& curves, Text text) {
  const std::string first = curves.empty() ? "" : text(curves[0]);
  const bool same = std::all_of(curves.begin(), curves.end(), [&](const v1::Curve& c) { return text(c) == first; });
  return same ? first : "";
}

std::string SweepsText(const v1::Curve& curve) {
  return absl::StrCat("sweep", curve.sweeps_size() > 1 ? "s " : " ", absl::StrJoin(curve.sweeps(), ", "));
}

std::string GoalOf(const v1::Curve& curve) { return GoalText(curve.goal()); }

std::string Join(const std::vector<std::string>& parts, absl::string_view gap) {
  std::vector<std::string> present;
  std::copy_if(parts.begin(), parts.end(), std::back_inserter(present), [](const auto& s) { return !s.empty(); });
  return absl::StrJoin(present, gap);
}

// Addresses taken apart: "fashion_mnist/*/sgd" is what all have in common, "fc_128" and "fc_1024" what is their own.
struct Names {
  std::string common;
  std::vector<std::string> own;
};

Names SplitNames(const std::vector<v1::Curve>& curves) {
  std::vector<std::vector<std::string>> parts;
  for (const v1::Curve& curve : curves) parts.push_back(absl::StrSplit(curve.workload(), '/'));
  Names names{"", std::vector<std::string>(curves.size())};
  for (const auto& address : parts) {
    // Of other depth: nothing can be told apart by position.
    if (address.size() == parts[0].size()) continue;
    for (size_t i = 0; i < curves.size(); ++i) names.own[i] = curves[i].workload();
    return names;
  }
  for (size_t position = 0; !parts.empty() && position < parts[0].size(); ++position) {
    const bool same = std::all_of(parts.begin(), parts.end(),
                                  [&](const auto& address) { return address[position] == parts[0][position]; });
    absl::StrAppend(&names.common, position == 0 ? "" : "/", same ? parts[0][position] : "*");
    for (size_t i = 0; i < parts.size() && !same; ++i) names.own[i] = Join({names.own[i], parts[i][position]}, "/");
  }
  return names;
}

// A margin of half an octave, and at least two octaves in all.
void Widen(double* low, double* high) {
  *low /= M_SQRT2;
  *high *= M_SQRT2;
  while (*high / *low < 4) {
    *low /= M_SQRT2;
    *high *= M_SQRT2;
  }
}

void SetRanges(StepsPlot* plot) {
  bool any = false;
  bool any_reached = false;
  for (const PlotSeries& series : plot->series) {
    for (const PlotPoint& point : series.points) {
      const double batch = static_cast<double>(point.batch_size);
      plot->x_min = any ? std::min(plot->x_min, batch) : batch;
      plot->x_max = any ? std::max(plot->x_max, batch) : batch;
      any = true;
      if (!point.reached) continue;
      const double steps = static_cast<double>(point.steps);
      // A bracket that starts at 0 has no end on the axis; it must not stretch it either.
      const double low = point.previous_step >= 1 ? static_cast<double>(point.previous_step) : steps;
      plot->y_min = any_reached ? std::min(plot->y_min, low) : low;
      plot->y_max = any_reached ? std::max(plot->y_max, steps) : steps;
      any_reached = true;
    }
  }
  Widen(&plot->x_min, &plot->x_max);
  Widen(&plot->y_min, &plot->y_max);
}

}  // namespace

const PlotPoint* PlotSeries::Anchor() const {
  const auto found = std::find_if(points.begin(), points.end(), [](const PlotPoint& p) { return p.reached; });
  return found == points.end() ? nullptr : &*found;
}

double PlotSeries::Perfect(int64_t batch_size) const {
  const PlotPoint* anchor = Anchor();
  return static_cast<double>(anchor->steps) * static_cast<double>(anchor->batch_size) / static_cast<double>(batch_size);
}

StepsPlot MakeStepsPlot(const std::vector<v1::Curve>& curves) {
  StepsPlot plot;
  const Names workloads = SplitNames(curves);
  const std::string goal = Common(curves, GoalOf);
  const std::string sweeps = Common(curves, SweepsText);
  plot.title = Join({workloads.common, goal}, "   ");
  std::vector<std::string> subtitle = {sweeps};
  for (size_t i = 0; i < 4; ++i)
    subtitle.push_back(Common(curves, [i](const v1::Curve& c) { return CurveTerms(c)[i]; }));
  plot.subtitle = Join(subtitle, "   ");
  for (size_t i = 0; i < curves.size(); ++i) {
    const v1::Curve& curve = curves[i];
    PlotSeries series{curve.workload(), GoalOf(curve), absl::StrJoin(curve.sweeps(), ";"), "", {}};
    series.label =
        Join({workloads.own[i], goal.empty() ? series.goal : "", sweeps.empty() ? SweepsText(curve) : ""}, ", ");
    if (series.label.empty()) series.label = "measured";
    for (const v1::CurvePoint& point : curve.points()) {
      const bool reached = point.status() == v1::CurvePoint::REACHED;
      if (reached && point.steps() < 1) continue;
      series.points.push_back({point.batch_size(), reached, point.steps(), point.previous_step()});
    }
    std::sort(series.points.begin(), series.points.end(),
              [](const PlotPoint& a, const PlotPoint& b) { return a.batch_size < b.batch_size; });
    plot.series.push_back(std::move(series));
  }
  SetRanges(&plot);
  return plot;
}

void PrintPlotRows(const StepsPlot& plot, Format format, std::ostream* out) {
  RowPrinter printer(
      format, {{"workload"}, {"goal"}, {"sweeps"}, {"batch_size"}, {"steps"}, {"previous_step"}, {"perfect"}}, out);
  for (const PlotSeries& series : plot.series) {
    std::vector<Row> rows;
    for (const PlotPoint& point : series.points) {
      rows.push_back({Cell::Text(series.workload), Cell::Text(series.goal), Cell::Text(series.sweeps),
                      Cell::Integer(point.batch_size), point.reached ? Cell::Integer(point.steps) : Cell::Nothing(),
                      point.reached && point.previous_step >= 0 ? Cell::Integer(point.previous_step) : Cell::Nothing(),
                      point.reached ? Cell::Real(series.Perfect(point.batch_size)) : Cell::Nothing()});
    }
    printer.Print(rows);
  }
}

}  // namespace stepcurve
