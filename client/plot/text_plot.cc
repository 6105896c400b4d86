// SPDX-License-Identifier: Apache-2.0
#include "client/plot/text_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/render/figures.h"

namespace stepcurve {
namespace {

// Characters that are drawn on by coordinates from 0 to 1, (0, 0) at the bottom left.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), lines_(height, std::string(width, ' ')) {}

  int Column(double x) const { return static_cast<int>(std::lround(x * (width_ - 1))); }
  int Line(double y) const { return static_cast<int>(std::lround((1 - y) * (height() - 1))); }
  int height() const { return static_cast<int>(lines_.size()); }
  const std::string& line(int i) const { return lines_[i]; }

  void Put(int column, int line, char c) {
    if (column >= 0 && column < width_ && line >= 0 && line < height()) lines_[line][column] = c;
  }

  // Perfect scaling: a dot in every column.
  void Dots(double x0, double y0, double x1, double y1) {
    for (int column = Column(x0); column <= Column(x1); ++column) Put(column, Line(At(column, x0, y0, x1, y1)), '.');
  }

  // From one point to the next, by the character that is nearest to the slope.
  void Join(double x0, double y0, double x1, double y1) {
    for (int column = Column(x0) + 1; column < Column(x1); ++column) {
      const int line = Line(At(column, x0, y0, x1, y1));
      const int next = Line(At(column + 1, x0, y0, x1, y1));
      if (next == line) {
        Put(column, line, '-');
      } else {
        const int step = next > line ? 1 : -1;
        for (int i = line; i != next; i += step) Put(column, i, i == line ? (step > 0 ? '\\' : '/') : '|');
      }
    }
  }

 private:
  double At(int column, double x0, double y0, double x1, double y1) const {
    const double x = static_cast<double>(column) / (width_ - 1);
    return x1 == x0 ? y0 : y0 + (y1 - y0) * (x - x0) / (x1 - x0);
  }

  const int width_;
  std::vector<std::string> lines_;
};

double Share(double value, double low, double high) { return std::log2(value / low) / std::log2(high / low); }

// Powers of two in the range, as many as have room.
std::vector<double> Ticks(double low, double high, int room) {
  const int first = static_cast<int>(std::ceil(std::log2(low)));
  const int last = static_cast<int>(std::floor(std::log2(high)));
  int every = 1;
  while ((last - first) / every + 1 > std::max(room, 2)) every *= 2;
  std::vector<double> ticks;
  for (int power = first; power <= last; ++power) {
    if (power % every == 0) ticks.push_back(std::ldexp(1.0, power));
  }
  return ticks;
}

char Letter(size_t series) { return static_cast<char>('A' + series % 26); }

}  // namespace

std::string TextPlot(const StepsPlot& plot, int columns, int rows) {
  constexpr int kLabel = 9;  // Of the y axis, with a space behind.
  const int legend = static_cast<int>(plot.series.size()) + 1;
  Canvas canvas(std::clamp(columns, 40, 160) - kLabel - 2, std::clamp(rows - legend - 5, 8, 40));
  const auto x_of = [&](double batch_size) { return Share(batch_size, plot.x_min, plot.x_max); };
  const auto y_of = [&](double steps) { return Share(steps, plot.y_min, plot.y_max); };

  bool any_unreached = false;
  bool any_reached = false;
  for (const PlotSeries& series : plot.series) {
    const PlotPoint* previous = nullptr;
    for (const PlotPoint& point : series.points) {
      if (!point.reached) continue;
      if (previous != nullptr) {
        canvas.Dots(x_of(previous->batch_size), y_of(series.Perfect(previous->batch_size)), x_of(point.batch_size),
                    y_of(series.Perfect(point.batch_size)));
      }
      previous = &point;
    }
  }
  for (const PlotSeries& series : plot.series) {
    const PlotPoint* previous = nullptr;
    for (const PlotPoint& point : series.points) {
      if (!point.reached) continue;
      if (previous != nullptr) {
        canvas.Join(x_of(previous->batch_size), y_of(previous->steps), x_of(point.batch_size), y_of(point.steps));
      }
      previous = &point;
    }
  }
  for (size_t i = 0; i < plot.series.size(); ++i) {
    for (const PlotPoint& point : plot.series[i].points) {
      const int column = canvas.Column(x_of(point.batch_size));
      canvas.Put(column, point.reached ? canvas.Line(y_of(point.steps)) : canvas.height() - 1,
                 point.reached ? Letter(i) : 'x');
      (point.reached ? any_reached : any_unreached) = true;
    }
  }

  const std::vector<double> y_ticks = Ticks(plot.y_min, plot.y_max, canvas.height() / 2);
  std::string text = absl::StrCat(plot.title, "\n", plot.subtitle, "\n", "    steps against batch size\n");
  for (int line = 0; line < canvas.height(); ++line) {
    std::string label;
    for (double tick : y_ticks) {
      if (canvas.Line(y_of(tick)) == line) label = Grouped(std::llround(tick));
    }
    std::string row = absl::StrFormat("%*s %c%s", kLabel, label, label.empty() ? '|' : '+', canvas.line(line));
    absl::StripTrailingAsciiWhitespace(&row);
    absl::StrAppend(&text, row, "\n");
  }
  std::string axis(canvas.line(0).size(), '-');
  std::string labels(axis.size(), ' ');
  size_t free = 0;
  for (double tick : Ticks(plot.x_min, plot.x_max, static_cast<int>(axis.size()) / 6)) {
    const int column = canvas.Column(x_of(tick));
    axis[column] = '+';
    const std::string label = absl::StrCat(std::llround(tick));
    // Below its mark, but for those at the edges.
    const size_t start =
        std::clamp<int>(column - static_cast<int>(label.size()) / 2, 0, static_cast<int>(labels.size() - label.size()));
    if (start < free) continue;
    labels.replace(start, label.size(), label);
    free = start + label.size() + 1;
  }
  absl::StripTrailingAsciiWhitespace(&labels);
  absl::StrAppend(&text, std::string(kLabel, ' '), " +", axis, "\n", std::string(kLabel + 2, ' '), labels, "\n");
  std::vector<std::string> legends;
  for (size_t i = 0; i < plot.series.size(); ++i) {
    legends.push_back(absl::StrCat(std::string(1, Letter(i)), " ", plot.series[i].label));
  }
  if (any_reached) legends.push_back(". perfect scaling");
  if (any_unreached) legends.push_back("x goal not reached");
  std::string line;
  for (const std::string& part : legends) {
    if (!line.empty() && static_cast<int>(line.size() + 3 + part.size()) > columns) {
      absl::StrAppend(&text, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "  " : "   ", part);
  }
  return absl::StrCat(text, line, "\n");
}

}  // namespace stepcurve
