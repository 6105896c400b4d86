// SPDX-License-Identifier: Apache-2.0
#include "client/render/curve_view.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "client/render/figures.h"

namespace stepcurve {
namespace {

using Point = v1::CurvePoint;
constexpr auto kRight = Column::Align::kRight;

bool Reached(const Point& point) { return point.status() == Point::REACHED; }

// Every parameter of the curves, in the order of their first.
std::vector<std::string> ParameterNames(const v1::GetCurveResponse& curves) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const v1::Curve& curve : curves.curves()) {
    for (const std::string& name : curve.parameters()) add(name);
    for (const Point& point : curve.points()) {
      for (const v1::NamedValue& parameter : point.parameters()) add(parameter.name());
    }
  }
  return names;
}

std::vector<Column> DataColumns(const std::vector<std::string>& parameters) {
  std::vector<Column> columns;
  for (absl::string_view name :
       {"batch_size",     "steps",         "trial_id",    "value",       "reached",   "reason",        "exact",
        "steps_at_least", "previous_step", "test_value",  "examples",    "epochs",    "pool",          "wanted",
        "complete",       "stopped",       "infeasible",  "failed",      "cancelled", "running",       "queued",
        "rank2_steps",    "rank3_steps",   "rank4_steps", "rank5_steps", "repeats",   "repeat_median", "repeat_low",
        "repeat_high",    "warnings",      "certainty",   "trial"}) {
    columns.push_back({std::string(name), ""});
  }
  for (const std::string& name : parameters) columns.push_back({absl::StrCat("param.", name), ""});
  for (absl::string_view name : {"workload", "goal", "sweeps", "semantics"}) columns.push_back({std::string(name), ""});
  return columns;
}

Cell IntegerIf(bool there, int64_t n) { return there ? Cell::Integer(n) : Cell::Nothing(); }
Cell RealIf(bool there, double value) { return there ? Cell::Real(value) : Cell::Nothing(); }

Row DataRow(const v1::Curve& curve, const Point& point, const std::vector<std::string>& parameters) {
  const bool reached = Reached(point);
  const v1::StateCounts& counts = point.counts();
  Row row = {Cell::Integer(point.batch_size()),
             IntegerIf(reached, point.steps()),
             IntegerIf(reached, point.number()),
             RealIf(reached, point.value()),
             Cell::Flag(reached),
             reached ? Cell::Nothing() : Cell::Text(NameOf(point.status())),
             Cell::Flag(point.certainty() == Point::FINAL),
             IntegerIf(point.steps_at_least() > 0, point.steps_at_least()),
             IntegerIf(reached && point.previous_step() >= 0, point.previous_step()),
             RealIf(reached && !std::isnan(point.test_value()), point.test_value()),
             IntegerIf(reached, point.examples()),
             RealIf(reached && !std::isnan(point.epochs()), point.epochs()),
             Cell::Integer(point.pool()),
             Cell::Integer(point.wanted()),
             Cell::Integer(counts.complete()),
             Cell::Integer(counts.stopped()),
             Cell::Integer(counts.infeasible()),
             Cell::Integer(counts.failed()),
             Cell::Integer(counts.cancelled()),
             Cell::Integer(counts.running()),
             Cell::Integer(counts.queued())};
  for (int rank = 0; rank < 4; ++rank) {
    const int64_t steps = rank < point.rank_steps_size() ? point.rank_steps(rank) : -1;
    row.push_back(IntegerIf(steps >= 0, steps));
  }
  row.insert(row.end(), 4, Cell::Nothing());  // Of repeats.
  Cell warnings{nlohmann::ordered_json::array(), ""};
  for (const v1::Warning& warning : point.warnings()) warnings.value.push_back(warning.code());
  row.push_back(std::move(warnings));
  row.push_back(Cell::Text(NameOf(point.certainty())));
  row.push_back(IntegerIf(reached, point.trial()));
  for (const std::string& name : parameters) {
    Cell cell = Cell::Nothing();
    for (const v1::NamedValue& parameter : point.parameters()) {
      if (reached && parameter.name() == name) cell = Cell::Real(parameter.value());
    }
    row.push_back(std::move(cell));
  }
  row.push_back(Cell::Text(curve.workload()));
  row.push_back(Cell::Text(GoalText(curve.goal())));
  row.push_back(Cell::Text(absl::StrJoin(curve.sweeps(), ";")));
  row.push_back(Cell::Text(NameOf(curve.semantics())));
  return row;
}

// "+26 %" of the point's steps.
std::string RankText(const Point& point, int rank) {
  const int i = rank - 2;
  if (!Reached(point) || i >= point.rank_steps_size() || point.rank_steps(i) < 0) return "-";
  if (point.steps() == 0) return Grouped(point.rank_steps(i));
  return absl::StrFormat("%+.0f %%", 100.0 * (point.rank_steps(i) - point.steps()) / point.steps());
}

Row TableRow(const v1::Curve& curve, int i) {
  const Point& point = curve.points(i);
  const bool reached = Reached(point);
  const auto shown = [reached](const std::string& text) { return Cell::Shown(reached ? text : "-"); };
  return {Cell::Shown(absl::StrCat(point.batch_size())),
          shown(Grouped(point.steps())),
          shown(point.previous_step() < 0 ? "-" : Grouped(point.previous_step())),
          shown(Short(point.examples())),
          shown(absl::StrCat(point.batch_size(), "/", point.number())),
          shown(Value(point.value())),
          shown(std::isnan(point.test_value()) ? "-" : Value(point.test_value())),
          Cell::Shown(RankText(point, 3)),
          Cell::Shown(RankText(point, 5)),
          Cell::Shown(PointNotes(curve, i))};
}

void PrintTable(const v1::Curve& curve, std::ostream* out) {
  *out << curve.workload() << "   sweep" << (curve.sweeps_size() > 1 ? "s " : " ")
       << absl::StrJoin(curve.sweeps(), ", ") << "   " << GoalText(curve.goal()) << "\n"
       << absl::StrJoin(CurveTerms(curve), "   ") << "\n";
  RowPrinter table(Format::kTable,
                   {{"", "batch", kRight},
                    {"", "steps", kRight},
                    {"", "after", kRight},
                    {"", "examples", kRight},
                    {"", "trial", kRight},
                    {"", "value", kRight},
                    {"", "test", kRight},
                    {"", "rank 3", kRight},
                    {"", "rank 5", kRight},
                    {"", "notes"}},
                   out);
  std::vector<Row> rows;
  for (int i = 0; i < curve.points_size(); ++i) rows.push_back(TableRow(curve, i));
  table.Print(rows);
  *out << CertaintyText(curve) << "\n";
}

}  // namespace

void PrintCurves(const v1::GetCurveResponse& curves, Format format, std::ostream* out) {
  if (format == Format::kTable) {
    for (int i = 0; i < curves.curves_size(); ++i) {
      if (i > 0) *out << "\n";
      PrintTable(curves.curves(i), out);
    }
    return;
  }
  const std::vector<std::string> parameters = ParameterNames(curves);
  RowPrinter printer(format, DataColumns(parameters), out);
  for (const v1::Curve& curve : curves.curves()) {
    std::vector<Row> rows;
    for (const Point& point : curve.points()) rows.push_back(DataRow(curve, point, parameters));
    printer.Print(rows);
  }
}

std::string PointNotes(const v1::Curve& curve, int i) {
  const Point& point = curve.points(i);
  std::vector<std::string> notes;
  if (point.status() == Point::NOT_REACHED) notes.push_back("not reached");
  if (point.status() == Point::NO_TRIALS) notes.push_back("no trial has ended");
  if (point.status() == Point::TOO_FEW) {
    notes.push_back(absl::StrFormat("only %d of %d trials", point.pool(), curve.first_trials()));
  }
  if (point.certainty() == Point::PROVISIONAL) notes.push_back("provisional");
  if (point.certainty() == Point::CENSORED && point.steps_at_least() > 0) {
    notes.push_back(absl::StrCat("at least ", Grouped(point.steps_at_least())));
  }
  for (const v1::Warning& warning : point.warnings()) {
    notes.push_back(absl::StrReplaceAll(warning.code(), {{":", " "}}));
  }
  if (i > 0 && i + 1 < curve.points_size() && Reached(point) && Reached(curve.points(i - 1)) &&
      Reached(curve.points(i + 1)) && point.steps() > curve.points(i - 1).steps() &&
      point.steps() > curve.points(i + 1).steps()) {
    notes.push_back("above both neighbours");
  }
  return absl::StrJoin(notes, "; ");
}

std::string CertaintyText(const v1::Curve& curve) {
  int final = 0;
  int provisional = 0;
  int64_t least = curve.points_size() == 0 ? 0 : curve.points(0).pool();
  int64_t most = least;
  v1::StateCounts sum;
  for (const Point& point : curve.points()) {
    final += point.certainty() == Point::FINAL;
    provisional += point.certainty() == Point::PROVISIONAL;
    least = std::min(least, point.pool());
    most = std::max(most, point.pool());
    sum.set_stopped(sum.stopped() + point.counts().stopped());
    sum.set_infeasible(sum.infeasible() + point.counts().infeasible());
    sum.set_failed(sum.failed() + point.counts().failed());
    sum.set_cancelled(sum.cancelled() + point.counts().cancelled());
    sum.set_queued(sum.queued() + point.counts().queued() + point.counts().running());
  }
  std::string text = "every point exact";
  if (final < curve.points_size()) {
    text = absl::StrFormat("%d of %d points exact", final, curve.points_size());
    if (provisional > 0) absl::StrAppend(&text, ", ", provisional, " provisional");
    if (sum.queued() > 0) absl::StrAppend(&text, " (", sum.queued(), " trials to come)");
    const int censored = curve.points_size() - final - provisional;
    if (censored > 0) absl::StrAppend(&text, ", ", censored, " not (a trial that was stopped might have been sooner)");
  }
  absl::StrAppend(&text, "; ", least == most ? "" : absl::StrCat(least, " to "), most, " trials at each batch size");
  std::vector<std::string> others;
  if (sum.stopped() > 0) others.push_back(absl::StrCat(sum.stopped(), " stopped early"));
  if (sum.infeasible() > 0) others.push_back(absl::StrCat(sum.infeasible(), " diverged"));
  if (sum.failed() > 0) others.push_back(absl::StrCat(sum.failed(), " failed"));
  if (sum.cancelled() > 0) others.push_back(absl::StrCat(sum.cancelled(), " cancelled"));
  if (!others.empty()) absl::StrAppend(&text, ": ", absl::StrJoin(others, ", "));
  return text;
}

std::vector<std::string> CurveTerms(const v1::Curve& curve) {
  return {absl::StrCat("semantics ", NameOf(curve.semantics())),
          curve.first_trials() == 0 ? "all trials of each study"
                                    : absl::StrCat("first ", curve.first_trials(), " trials of each study"),
          absl::StrCat("space ", curve.space().empty() ? "differs between studies" : curve.space()),
          absl::StrCat("grid ", curve.grid().empty() ? "differs between studies" : curve.grid())};
}

}  // namespace stepcurve
