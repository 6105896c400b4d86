// SPDX-License-Identifier: Apache-2.0
#include "client/plot/gnuplot_script.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/sweep_file/number.h"

namespace stepcurve {
namespace {

// Okabe and Ito's palette, which people with every kind of colour vision tell apart, without its yellow, which is too
// light for a line. Black is for perfect scaling.
constexpr absl::string_view kColours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"};
// Filled triangles, up and down; hollow ones after those, once colours repeat.
constexpr int kTriangles[] = {9, 11, 8, 10};

// In single quotes gnuplot neither runs commands nor knows escapes.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "''"}, {"\n", " "}}), "'");
}

int FontSize(absl::string_view picture) { return absl::EndsWithIgnoreCase(picture, ".pdf") ? 11 : 17; }

absl::StatusOr<std::string> Terminal(absl::string_view picture) {
  const std::string font = absl::StrFormat("font 'DejaVu Sans,%d'", FontSize(picture));
  if (absl::EndsWithIgnoreCase(picture, ".png")) return absl::StrCat("pngcairo size 1200,900 lw 2 ", font);
  if (absl::EndsWithIgnoreCase(picture, ".svg")) return absl::StrCat("svg size 960,720 dynamic ", font);
  if (absl::EndsWithIgnoreCase(picture, ".pdf")) return absl::StrCat("pdfcairo size 6.4in,4.8in ", font);
  return absl::InvalidArgumentError(
      absl::StrFormat("the picture's name is %s; it must end in .png, .svg or .pdf", picture));
}

// Every power of two that lies in the range, or every second, fourth, ... where they would be more than ten.
std::string Tics(double low, double high) {
  const int first = static_cast<int>(std::ceil(std::log2(low)));
  const int last = static_cast<int>(std::floor(std::log2(high)));
  int every = 1;
  while ((last - first) / every > 9) every *= 2;
  std::vector<std::string> tics;
  for (int power = first; power <= last; ++power) {
    // In step with 1, so that neighbouring plots have the same ones.
    if (power % every == 0) tics.push_back(absl::StrFormat("'2^{%d}' %s", power, FormatReal(std::ldexp(1.0, power))));
  }
  return absl::StrCat("(", absl::StrJoin(tics, ", "), ")");
}

}  // namespace

std::string GnuplotData(const StepsPlot& plot) {
  std::vector<std::string> blocks;
  for (const PlotSeries& series : plot.series) {
    std::string reached = absl::StrCat("# ", series.workload, "   ", series.goal, "   ", series.sweeps, "\n",
                                       "# batch_size steps bracket_low bracket_high perfect\n");
    std::string unreached = "# batch sizes that did not reach the goal\n";
    bool any_reached = false;
    bool any_unreached = false;
    for (const PlotPoint& point : series.points) {
      if (!point.reached) {
        absl::StrAppend(&unreached, point.batch_size, "\n");
        any_unreached = true;
        continue;
      }
      any_reached = true;
      // A bracket from 0 goes down to the axis.
      const double low = std::max(static_cast<double>(point.previous_step), plot.y_min);
      absl::StrAppend(&reached, point.batch_size, " ", point.steps, " ", FormatReal(low), " ", point.steps, " ",
                      FormatReal(series.Perfect(point.batch_size)), "\n");
    }
    // gnuplot does not count a block without a point.
    if (!any_reached) absl::StrAppend(&reached, "NaN NaN NaN NaN NaN\n");
    if (!any_unreached) absl::StrAppend(&unreached, "NaN\n");
    blocks.push_back(reached);
    blocks.push_back(unreached);
  }
  return absl::StrJoin(blocks, "\n\n");
}

absl::StatusOr<std::string> GnuplotScript(const StepsPlot& plot, absl::string_view picture_file,
                                          absl::string_view data_file) {
  const absl::StatusOr<std::string> terminal = Terminal(picture_file);
  if (!terminal.ok()) return terminal.status();
  std::string script =
      absl::StrCat("# Steps to result against batch size. Run by gnuplot 5 in this folder.\n", "set terminal ",
                   *terminal, "\nset output ", Quoted(picture_file), "\ndata = ", Quoted(data_file), "\n");
  // Long titles shrink rather than run over the edge.
  const auto heading = [&](int label, absl::string_view text, double height, int room, int size) {
    const int fitting = std::max(7, static_cast<int>(size * std::min(1.0, static_cast<double>(room) / text.size())));
    absl::StrAppendFormat(&script, "set label %d %s at screen 0.5, screen %.3f center noenhanced font ',%d'\n", label,
                          Quoted(text), height, fitting);
  };
  const int size = FontSize(picture_file);
  heading(1, plot.title, 0.96, 76, size);
  heading(2, plot.subtitle, 0.915, 108, size * 3 / 4);
  absl::StrAppend(&script, "set tmargin at screen 0.88\n");
  absl::StrAppend(&script, "set logscale xy 2\nset xlabel 'Batch size'\nset ylabel 'Steps'\n");
  absl::StrAppend(&script, "set xrange [", FormatReal(plot.x_min), ":", FormatReal(plot.x_max), "]\nset yrange [",
                  FormatReal(plot.y_min), ":", FormatReal(plot.y_max), "]\n");
  absl::StrAppend(&script, "set xtics ", Tics(plot.x_min, plot.x_max), "\nset ytics ", Tics(plot.y_min, plot.y_max),
                  "\n");
  absl::StrAppend(&script, "set grid xtics ytics lt 1 lw 0.5 lc rgb '#DDDDDD'\nset border lw 0.8\nset tics nomirror\n",
                  "set key top right reverse Left noenhanced opaque samplen 2 spacing 1.1\n", "set errorbars 0.8\n");
  std::vector<std::string> layers;
  bool perfect_named = false;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    if (plot.series[i].Anchor() == nullptr) continue;
    layers.push_back(absl::StrFormat("data index %d using 1:5 with lines dt 2 lw 1.2 lc rgb 'black' %s", 2 * i,
                                     perfect_named ? "notitle" : "title 'perfect scaling'"));
    perfect_named = true;
  }
  bool any_reached = false;
  bool any_unreached = false;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const absl::string_view colour = kColours[i % std::size(kColours)];
    const int triangle = kTriangles[(i / std::size(kColours)) % std::size(kTriangles)];
    const auto reached = [](const PlotPoint& point) { return point.reached; };
    if (std::any_of(series.points.begin(), series.points.end(), reached)) {
      any_reached = true;
      layers.push_back(absl::StrFormat("data index %d using 1:2:3:4 with yerrorbars pt 0 lw 1.5 lc rgb '%s' notitle",
                                       2 * i, colour));
      layers.push_back(
          absl::StrFormat("data index %d using 1:2 with linespoints pt %d ps 1.4 lw 1.6 lc rgb '%s' title %s", 2 * i,
                          triangle, colour, Quoted(series.label)));
    }
    if (std::all_of(series.points.begin(), series.points.end(), reached)) continue;
    any_unreached = true;
    // On the axis; those of several series stand above one another.
    const double height = plot.y_min * std::pow(plot.y_max / plot.y_min, 0.025 * i);
    layers.push_back(absl::StrFormat("data index %d using 1:(%s) with points pt 2 ps 1.8 lw 1.8 lc rgb '%s' notitle",
                                     2 * i + 1, FormatReal(height), colour));
  }
  if (any_reached) {
    layers.push_back("keyentry with yerrorbars pt 0 lw 1.5 lc rgb '#666666' title 'back to the evaluation before'");
  } else {
    absl::StrAppend(&script, "set label 3 'no batch size reached the goal' at graph 0.5, graph 0.5 center\n");
  }
  if (any_unreached)
    layers.push_back("keyentry with points pt 2 ps 1.8 lw 1.8 lc rgb '#666666' title 'goal not reached'");
  absl::StrAppend(&script, "plot ", absl::StrJoin(layers, ", \\\n     "), "\n");
  return script;
}

}  // namespace stepcurve
