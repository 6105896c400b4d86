// SPDX-License-Identifier: Apache-2.0
#include "client/render/trial_view.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/render/figures.h"
#include "client/sweep_file/number.h"

namespace stepcurve {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto kRight = Column::Align::kRight;

std::string Number(const v1::Trial& trial) { return absl::StrCat(trial.batch_size(), "/", trial.number()); }

double Seconds(const google::protobuf::Duration& span) { return span.seconds() + 1e-9 * span.nanos(); }

Json Values(const google::protobuf::RepeatedPtrField<v1::NamedValue>& values) {
  Json object = Json::object();
  for (const v1::NamedValue& value : values) object[value.name()] = JsonReal(value.value());
  return object;
}

std::string ValuesText(const google::protobuf::RepeatedPtrField<v1::NamedValue>& values) {
  return absl::StrJoin(values, "   ", [](std::string* out, const v1::NamedValue& value) {
    absl::StrAppend(out, value.name(), " ", FormatReal(value.value()));
  });
}

Json TrialJson(const v1::Trial& trial) {
  Json object = {{"id", trial.id()},
                 {"trial", Number(trial)},
                 {"sweep", trial.sweep()},
                 {"study", trial.study()},
                 {"workload", trial.workload()},
                 {"batch_size", trial.batch_size()},
                 {"number", trial.number()},
                 {"repeat", trial.repeat()},
                 {"state", NameOf(trial.state())},
                 {"reason", NameOf(trial.end_reason())},
                 {"step", trial.last_step()},
                 {"budget_steps", trial.budget_steps()},
                 {"parameters", Values(trial.parameters())},
                 {"coordinates", Values(trial.coordinates())},
                 {"training_seed", trial.training_seed()},
                 {"attempt", trial.attempt()},
                 {"crashes", trial.crashes()},
                 {"losses", trial.losses()},
                 {"error", trial.error()},
                 {"worker", trial.worker()},
                 {"grant_time", Rfc3339(trial.grant_time())},
                 {"end_time", Rfc3339(trial.end_time())},
                 {"train_seconds", Seconds(trial.train_time())},
                 {"eval_seconds", Seconds(trial.eval_time())}};
  if (trial.has_diverged_step()) object["diverged_step"] = trial.diverged_step();
  object["best"] = Json::array();
  for (const v1::BestValue& best : trial.best()) {
    object["best"].push_back({{"metric", best.metric()}, {"value", JsonReal(best.value())}, {"step", best.step()}});
  }
  object["attempts"] = Json::array();
  for (const v1::Attempt& attempt : trial.attempts()) {
    object["attempts"].push_back({{"attempt", attempt.attempt()},
                                  {"worker", attempt.worker()},
                                  {"device", attempt.device()},
                                  {"threads", attempt.threads()},
                                  {"build", attempt.build()},
                                  {"base_step", attempt.base_step()},
                                  {"last_step", attempt.last_step()},
                                  {"outcome", attempt.outcome()},
                                  {"error", attempt.error()},
                                  {"log_tail", attempt.log_tail()},
                                  {"start_time", Rfc3339(attempt.start_time())},
                                  {"end_time", Rfc3339(attempt.end_time())}});
  }
  return object;
}

}  // namespace

std::vector<Column> TrialColumns::Columns() const {
  std::vector<Column> columns = {{"trial", "trial", kRight},
                                 {"id", "id", kRight},
                                 {"workload", ""},
                                 {"batch_size", ""},
                                 {"number", ""},
                                 {"state", "state"},
                                 {"reason", "reason"},
                                 {"step", "step", kRight},
                                 {"budget_steps", ""},
                                 {"best", metric.empty() ? "" : absl::StrCat("best ", metric), kRight},
                                 {"best_step", metric.empty() ? "" : "at step", kRight}};
  if (goal) columns.push_back({"steps_to_goal", "T", kRight});
  for (const std::string& name : parameters) columns.push_back({absl::StrCat("param.", name), name, kRight});
  columns.push_back({"worker", ""});
  columns.push_back({"error", "error"});
  return columns;
}

Row TrialColumns::RowOf(const v1::Trial& trial) const {
  Row row = {Cell::Text(Number(trial)),
             Cell::Integer(trial.id()),
             Cell::Text(trial.workload()),
             Cell::Integer(trial.batch_size()),
             Cell::Integer(trial.number()),
             Cell::Text(NameOf(trial.state()), trial.state() == v1::INFEASIBLE ? "diverged" : NameOf(trial.state())),
             Cell::Text(NameOf(trial.end_reason())),
             trial.last_step() < 0 ? Cell::Nothing("-") : Cell::Integer(trial.last_step()),
             Cell::Integer(trial.budget_steps())};
  Cell best = Cell::Nothing("-");
  Cell best_step = Cell::Nothing("-");
  for (const v1::BestValue& value : trial.best()) {
    if (value.metric() != metric) continue;
    best = Cell::Real(value.value());
    best_step = Cell::Integer(value.step());
  }
  row.push_back(best);
  row.push_back(best_step);
  if (goal) row.push_back(trial.has_steps_to_goal() ? Cell::Integer(trial.steps_to_goal()) : Cell::Nothing("-"));
  for (const std::string& name : parameters) {
    Cell cell = Cell::Nothing("-");
    for (const v1::NamedValue& parameter : trial.parameters()) {
      if (parameter.name() == name) cell = Cell::Real(parameter.value());
    }
    row.push_back(cell);
  }
  row.push_back(Cell::Text(trial.worker()));
  // The first line, of which a table shows the beginning.
  const std::string first = trial.error().substr(0, trial.error().find('\n'));
  row.push_back(Cell::Text(trial.error(), first.size() <= 60 ? first : first.substr(0, 57) + "..."));
  return row;
}

void PrintTrial(const v1::Trial& trial, Format format, std::ostream* out) {
  if (format == Format::kJson) {
    *out << JsonText(TrialJson(trial)) << "\n";
    return;
  }
  if (format == Format::kCsv) {
    TrialColumns columns;
    for (const v1::NamedValue& parameter : trial.parameters()) columns.parameters.push_back(parameter.name());
    RowPrinter(format, columns.Columns(), out).Print({columns.RowOf(trial)});
    return;
  }
  *out << "trial " << trial.id() << "   " << trial.workload() << "   " << Number(trial) << "   sweep " << trial.sweep()
       << "\n"
       << NameOf(trial.state());
  if (trial.end_reason() != v1::END_REASON_UNSPECIFIED) *out << " (" << NameOf(trial.end_reason()) << ")";
  // What diverges does so past its last evaluation.
  const int64_t step = trial.has_diverged_step() ? trial.diverged_step() : trial.last_step();
  if (step >= 0) *out << " at step " << Grouped(step);
  *out << " of " << Grouped(trial.budget_steps()) << "\n";
  *out << "  parameters   " << ValuesText(trial.parameters()) << "\n";
  *out << "  coordinates  " << ValuesText(trial.coordinates()) << "\n";
  *out << "  seed         " << trial.training_seed() << "\n";
  for (const v1::BestValue& best : trial.best()) {
    *out << "  best         " << best.metric() << " " << Value(best.value()) << " at step " << Grouped(best.step())
         << "\n";
  }
  if (!trial.stop_goal().empty()) {
    *out << "  stopped      could no longer win " << trial.stop_goal() << ": trial " << trial.stop_witness()
         << " crossed at step " << Grouped(trial.stop_step()) << "\n";
  }
  if (!trial.excluded_reason().empty()) *out << "  excluded     " << trial.excluded_reason() << "\n";
  if (!trial.worker().empty()) *out << "  worker       " << trial.worker() << "\n";
  *out << absl::StrFormat("  time         %.1f s training, %.1f s evaluating\n", Seconds(trial.train_time()),
                          Seconds(trial.eval_time()));
  if (!trial.error().empty()) *out << "  error        " << trial.error() << "\n";
  for (const v1::Attempt& attempt : trial.attempts()) {
    std::vector<std::string> details;
    if (!attempt.device().empty()) details.push_back(attempt.device());
    if (attempt.threads() > 0) details.push_back(absl::StrCat(attempt.threads(), " threads"));
    if (!attempt.build().empty()) details.push_back(absl::StrCat("build ", attempt.build()));
    *out << "  attempt " << attempt.attempt() << "    " << attempt.outcome() << " at step " << attempt.last_step()
         << " on " << attempt.worker() << (details.empty() ? "" : " (") << absl::StrJoin(details, ", ")
         << (details.empty() ? "" : ")") << (attempt.error().empty() ? "" : ": ") << attempt.error() << "\n";
  }
  // One that runs has none yet.
  const auto ended = std::find_if(trial.attempts().rbegin(), trial.attempts().rend(),
                                  [](const v1::Attempt& attempt) { return attempt.has_end_time(); });
  if (ended != trial.attempts().rend() && !ended->log_tail().empty()) {
    *out << "last lines of its log:\n";
    for (absl::string_view line : absl::StrSplit(ended->log_tail(), '\n', absl::SkipEmpty())) {
      *out << "  | " << line << "\n";
    }
  }
}

absl::Status MeasurementPrinter::Print(const v1::MeasurementBatch& batch) {
  if (!rows_.has_value()) {
    metrics_.assign(batch.metrics().begin(), batch.metrics().end());
    std::vector<Column> columns = {
        {"trial", "trial", kRight}, {"attempt", "attempt", kRight}, {"step", "step", kRight}};
    for (const std::string& metric : metrics_) columns.push_back({metric, metric, kRight});
    columns.push_back({"superseded", ""});
    rows_.emplace(format_, std::move(columns), out_);
  }
  // Where each column's value stands in this batch: trials of several workloads have several lists of metrics.
  std::vector<int> positions;
  for (const std::string& metric : metrics_) {
    const auto found = std::find(batch.metrics().begin(), batch.metrics().end(), metric);
    positions.push_back(found == batch.metrics().end() ? -1 : static_cast<int>(found - batch.metrics().begin()));
  }
  for (const std::string& metric : batch.metrics()) {
    if (std::find(metrics_.begin(), metrics_.end(), metric) == metrics_.end()) {
      return absl::FailedPreconditionError(
          absl::StrFormat("trial %d has %s, which the trials before have not; choose one metric with --metric, or ask "
                          "for it separately",
                          batch.trial(), metric));
    }
  }
  std::vector<Row> rows;
  rows.reserve(batch.measurements_size());
  for (const v1::Measurement& measurement : batch.measurements()) {
    Row row = {Cell::Integer(batch.trial()), Cell::Integer(batch.attempt()), Cell::Integer(measurement.step())};
    for (int position : positions) {
      const bool there = position >= 0 && position < measurement.values_size();
      row.push_back(there ? Cell::Real(measurement.values(position)) : Cell::Nothing("-"));
    }
    row.push_back(Cell::Flag(batch.superseded()));
    rows.push_back(std::move(row));
  }
  rows_->Print(rows);
  return absl::OkStatus();
}

}  // namespace stepcurve
