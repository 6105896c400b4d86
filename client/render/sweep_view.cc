// SPDX-License-Identifier: Apache-2.0
#include "client/render/sweep_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/render/figures.h"
#include "client/render/plan_view.h"
#include "client/sweep_file/quantity.h"

namespace stepcurve {
namespace {

using Json = nlohmann::ordered_json;
constexpr auto kRight = Column::Align::kRight;

template <typename Items>
Cell List(const Items& items) {
  Cell cell{Json::array(), absl::StrJoin(items, ", ")};
  for (const auto& item : items) cell.value.push_back(item);
  return cell;
}

Cell TimeCell(const google::protobuf::Timestamp& time) {
  const std::string text = Rfc3339(time);
  return text.empty() ? Cell::Nothing() : Cell::Text(text);
}

std::string AgeText(const google::protobuf::Timestamp& time, absl::Time now) {
  return Rfc3339(time).empty() ? "" : Span(std::max(now - FromProto(time), absl::ZeroDuration()));
}

Cell Grouping(int64_t n) { return {n, Grouped(n)}; }

std::vector<Column> StudyColumns() {
  return {{"study", ""},
          {"workload", ""},
          {"batch_size", "batch", kRight},
          {"budget_steps", "budget steps", kRight},
          {"evaluations", "evaluations", kRight},
          {"wanted", "wanted", kRight},
          {"max_trials", ""},
          {"complete", "complete", kRight},
          {"stopped", "stopped", kRight},
          {"infeasible", "diverged", kRight},
          {"failed", "failed", kRight},
          {"cancelled", "cancelled", kRight},
          {"running", "running", kRight},
          {"queued", "queued", kRight},
          {"space_hash", ""},
          {"space", ""},
          {"schedule", ""},
          {"sampler", ""},
          {"grid", ""},
          {"waiting_for", "waiting for"}};
}

Row StudyRow(const v1::Study& study) {
  const v1::StateCounts& counts = study.counts();
  return {Cell::Integer(study.id()),          Cell::Text(study.workload().address()),
          Cell::Integer(study.batch_size()),  Grouping(study.budget_steps()),
          Grouping(study.evaluations()),      Grouping(study.wanted()),
          Cell::Integer(study.max_trials()),  Grouping(counts.complete()),
          Grouping(counts.stopped()),         Grouping(counts.infeasible()),
          Grouping(counts.failed()),          Grouping(counts.cancelled()),
          Grouping(counts.running()),         Grouping(counts.queued()),
          Cell::Text(study.space_hash()),     Cell{SpaceJson(study), ""},
          Cell::Text(study.schedule()),       Cell::Text(study.sampler()),
          Cell::Text(GridText(study.grid())), Cell::Text(WaitingText(study))};
}

Json Object(const std::vector<Column>& columns, const Row& row) {
  Json object = Json::object();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].name.empty()) object[columns[i].name] = row[i].value;
  }
  return object;
}

}  // namespace

std::vector<Column> SweepColumns() {
  return {{"sweep", "id", kRight},
          {"name", "name"},
          {"state", "state"},
          {"", "done", kRight},
          {"complete", ""},
          {"stopped", ""},
          {"infeasible", ""},
          {"failed", "failed", kRight},
          {"cancelled", ""},
          {"running", "running", kRight},
          {"queued", ""},
          {"wanted", ""},
          {"studies", "studies", kRight},
          {"priority", ""},
          {"max_running", ""},
          {"tags", "tags"},
          {"goals", ""},
          {"semantics", ""},
          {"creator", "by"},
          {"create_time", "age", kRight},
          {"end_time", ""},
          {"description", ""}};
}

Row SweepRow(const v1::Sweep& sweep, absl::Time now) {
  const v1::StateCounts& counts = sweep.counts();
  return {Cell::Integer(sweep.id()),
          Cell::Text(sweep.name()),
          Cell::Text(NameOf(sweep.state())),
          Cell::Shown(absl::StrCat(Ended(counts), "/", std::max(Total(counts), sweep.wanted()))),
          Cell::Integer(counts.complete()),
          Cell::Integer(counts.stopped()),
          Cell::Integer(counts.infeasible()),
          Cell::Integer(counts.failed()),
          Cell::Integer(counts.cancelled()),
          Cell::Integer(counts.running()),
          Cell::Integer(counts.queued()),
          Cell::Integer(sweep.wanted()),
          Cell::Integer(sweep.studies()),
          Cell::Integer(sweep.priority()),
          sweep.has_max_running() ? Cell::Integer(sweep.max_running()) : Cell::Nothing(),
          List(sweep.tags()),
          List(sweep.goals()),
          Cell::Text(NameOf(sweep.semantics())),
          Cell::Text(sweep.creator()),
          Cell{TimeCell(sweep.create_time()).value, AgeText(sweep.create_time(), now)},
          TimeCell(sweep.end_time()),
          Cell::Text(sweep.description())};
}

void PrintSweep(const v1::Sweep& sweep, const std::vector<v1::Study>& studies, Format format, std::ostream* out) {
  if (format == Format::kJson) {
    Json object = Object(SweepColumns(), SweepRow(sweep, absl::InfinitePast()));
    object["study_list"] = Json::array();
    for (const v1::Study& study : studies) object["study_list"].push_back(Object(StudyColumns(), StudyRow(study)));
    *out << JsonText(object) << "\n";
    return;
  }
  if (format == Format::kCsv) {
    RowPrinter printer(format, StudyColumns(), out);
    std::vector<Row> rows;
    for (const v1::Study& study : studies) rows.push_back(StudyRow(study));
    printer.Print(rows);
    return;
  }
  *out << "sweep " << sweep.id() << " " << sweep.name() << "   " << NameOf(sweep.state()) << "   "
       << Grouped(Ended(sweep.counts())) << "/" << Grouped(std::max(Total(sweep.counts()), sweep.wanted()))
       << " done\n";
  if (!sweep.description().empty()) *out << sweep.description() << "\n";
  *out << "created " << Rfc3339(sweep.create_time()) << (sweep.creator().empty() ? "" : " by ") << sweep.creator();
  if (const std::string end = Rfc3339(sweep.end_time()); !end.empty()) *out << "   ended " << end;
  if (sweep.priority() != 0) *out << "   priority " << sweep.priority();
  if (sweep.has_max_running()) *out << "   at most " << sweep.max_running() << " running";
  if (!sweep.tags().empty()) *out << "   tags " << absl::StrJoin(sweep.tags(), ", ");
  *out << "\n";
  if (!sweep.goals().empty()) *out << "goals " << absl::StrJoin(sweep.goals(), ", ") << "\n";
  std::vector<std::string> workloads;
  for (const v1::Study& study : studies) {
    const std::string& address = study.workload().address();
    if (std::find(workloads.begin(), workloads.end(), address) == workloads.end()) workloads.push_back(address);
  }
  for (const std::string& workload : workloads) {
    *out << "\n" << workload << "\n";
    RowPrinter table(Format::kTable, StudyColumns(), out);
    std::vector<Row> rows;
    for (const v1::Study& study : studies) {
      if (study.workload().address() == workload) rows.push_back(StudyRow(study));
    }
    table.Print(rows);
  }
}

void PrintWorkloads(const v1::ListWorkloadsResponse& workloads, Format format, std::ostream* out) {
  RowPrinter printer(
      format, {{"workload", "workload"}, {"batch_sizes", "batch sizes"}, {"sweeps", "sweeps"}, {"metrics", ""}}, out);
  std::vector<Row> rows;
  for (const auto& entry : workloads.workloads()) {
    rows.push_back({Cell::Text(entry.workload().address()), List(entry.batch_sizes()), List(entry.sweeps()),
                    List(entry.metrics())});
  }
  printer.Print(rows);
}

void PrintWorkers(const v1::ListWorkersResponse& workers, absl::Time now, Format format, std::ostream* out) {
  RowPrinter printer(format,
                     {{"worker", "worker"},
                      {"connected", "connected"},
                      {"running", "running", kRight},
                      {"slots", "slots", kRight},
                      {"device", "device"},
                      {"devices", "devices", kRight},
                      {"threads", "threads", kRight},
                      {"memory_bytes", "memory", kRight},
                      {"description", ""},
                      {"datasets", "data sets"},
                      {"build", "build"},
                      {"session", ""},
                      {"start_time", "since", kRight},
                      {"end_time", ""},
                      {"end_reason", "ended"}},
                     out);
  std::vector<Row> rows;
  for (const v1::Worker& worker : workers.workers()) {
    std::vector<v1::SlotClass> classes(worker.slots().begin(), worker.slots().end());
    if (classes.empty()) classes.emplace_back();
    for (const v1::SlotClass& slots : classes) {
      rows.push_back({Cell::Text(worker.name()), Cell::Flag(worker.connected()), Cell::Integer(worker.running()),
                      Cell::Integer(slots.slots()), Cell::Text(slots.device()), Cell::Integer(slots.devices()),
                      Cell::Integer(slots.threads()),
                      slots.memory_bytes() > 0 ? Cell{slots.memory_bytes(), Short(slots.memory_bytes()) + "B"}
                                               : Cell::Nothing("-"),
                      Cell::Text(slots.description()), List(worker.datasets()), Cell::Text(worker.build()),
                      Cell::Text(worker.session()),
                      Cell{TimeCell(worker.start_time()).value, AgeText(worker.start_time(), now)},
                      TimeCell(worker.end_time()), Cell::Text(worker.end_reason())});
    }
  }
  printer.Print(rows);
}

void PrintDatasets(const v1::GetCatalogueResponse& catalogue, Format format, std::ostream* out) {
  RowPrinter printer(format,
                     {{"dataset", "data set"},
                      {"task", "task"},
                      {"train_examples", "train", kRight},
                      {"val_examples", "val", kRight},
                      {"test_examples", "test", kRight},
                      {"metrics", ""},
                      {"workers", "workers", kRight}},
                     out);
  std::vector<Row> rows;
  for (const auto& dataset : catalogue.datasets()) {
    rows.push_back({Cell::Text(dataset.name()), Cell::Text(dataset.task()), Grouping(dataset.train_examples()),
                    Grouping(dataset.val_examples()), Grouping(dataset.test_examples()), List(dataset.metrics()),
                    Cell::Integer(dataset.workers())});
  }
  printer.Print(rows);
}

void PrintParameters(const v1::GetCatalogueResponse::Optimizer& optimizer, Format format, std::ostream* out) {
  RowPrinter printer(format, {{"name", "name"}, {"domain", "domain"}, {"default", "default"}, {"required", "required"}},
                     out);
  std::vector<Row> rows;
  for (const auto& parameter : optimizer.parameters()) {
    rows.push_back({Cell::Text(parameter.name()), Cell::Text(parameter.domain()),
                    parameter.has_default_value() ? Cell::Real(parameter.default_value()) : Cell::Nothing("-"),
                    Cell::Flag(parameter.required())});
  }
  printer.Print(rows);
}

}  // namespace stepcurve
