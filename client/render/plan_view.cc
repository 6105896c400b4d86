// SPDX-License-Identifier: Apache-2.0
#include "client/render/plan_view.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/render/figures.h"

namespace stepcurve {
namespace {

constexpr auto kRight = Column::Align::kRight;

// Whole budgets of every wanted trial. In double: 100,000 trials of 10^9 steps at a batch size of 10^6 pass 2^63.
double Steps(const v1::Study& study) { return static_cast<double>(study.budget_steps()) * study.wanted(); }
double Examples(const v1::Study& study) { return Steps(study) * study.batch_size(); }

double Epochs(const v1::Study& study) {
  return static_cast<double>(study.budget_steps()) * study.batch_size() / study.training_examples();
}

std::string Count(int64_t n, absl::string_view one, absl::string_view many) {
  return absl::StrCat(Grouped(n), " ", n == 1 ? one : many);
}

void PrintRows(const std::string& sweep, const v1::SweepPlan& plan, Format format, std::ostream* out) {
  RowPrinter printer(format,
                     {{"sweep"},
                      {"workload"},
                      {"batch_size"},
                      {"trials"},
                      {"max_trials"},
                      {"budget_steps"},
                      {"epochs"},
                      {"evaluations"},
                      {"steps"},
                      {"examples"},
                      {"space_hash"},
                      {"schedule"},
                      {"sampler"},
                      {"grid"},
                      {"space"},
                      {"fitting_workers"},
                      {"fitting_slots"}},
                     out);
  std::vector<Row> rows;
  for (const v1::Study& study : plan.studies()) {
    rows.push_back({Cell::Text(sweep), Cell::Text(study.workload().address()), Cell::Integer(study.batch_size()),
                    Cell::Integer(study.wanted()), Cell::Integer(study.max_trials()),
                    Cell::Integer(study.budget_steps()),
                    study.training_examples() > 0 ? Cell::Real(Epochs(study)) : Cell::Nothing(),
                    Cell::Integer(study.evaluations()), Cell::Real(Steps(study)), Cell::Real(Examples(study)),
                    Cell::Text(study.space_hash()), Cell::Text(study.schedule()), Cell::Text(study.sampler()),
                    Cell::Text(GridText(study.grid())), Cell{SpaceJson(study), ""},
                    Cell::Integer(plan.fitting_workers()), Cell::Integer(plan.fitting_slots())});
  }
  printer.Print(rows);
}

// "6.0 G examples, 88 % of them at batch sizes 32768 and 55000": where the money goes.
std::string CostText(const v1::SweepPlan& plan) {
  double steps = 0;
  double examples = 0;
  std::map<int64_t, double> by_batch_size;
  for (const v1::Study& study : plan.studies()) {
    steps += Steps(study);
    examples += Examples(study);
    by_batch_size[study.batch_size()] += Examples(study);
  }
  std::string text = absl::StrCat("at most ", Short(steps), " steps and ", Short(examples), " examples");
  if (by_batch_size.size() < 4 || examples == 0) return text;
  std::vector<std::pair<double, int64_t>> dearest;
  for (const auto& [batch_size, share] : by_batch_size) dearest.push_back({share / examples, batch_size});
  std::sort(dearest.rbegin(), dearest.rend());
  const double share = dearest[0].first + dearest[1].first;
  if (share < 0.5) return text;
  return absl::StrFormat("%s, %.0f %% of them at %d and %d", text, 100 * share,
                         std::min(dearest[0].second, dearest[1].second),
                         std::max(dearest[0].second, dearest[1].second));
}

// One line for every distinct space and schedule.
void PrintSpaces(const v1::SweepPlan& plan, std::ostream* out) {
  struct Group {
    const v1::Study* study;
    int64_t studies;
    std::set<std::string> workloads;
  };
  std::vector<Group> groups;
  for (const v1::Study& study : plan.studies()) {
    const auto same = [&](const Group& g) {
      return g.study->space_hash() == study.space_hash() && g.study->schedule() == study.schedule() &&
             g.study->sampler() == study.sampler();
    };
    auto group = std::find_if(groups.begin(), groups.end(), same);
    if (group == groups.end()) group = groups.insert(groups.end(), {&study, 0, {}});
    ++group->studies;
    group->workloads.insert(study.workload().optimizer());
  }
  for (const Group& group : groups) {
    const auto& space = group.study->space();
    const int64_t dimensions =
        std::count_if(space.begin(), space.end(), [](const auto& entry) { return !entry.has_fixed(); });
    *out << "  space " << group.study->space_hash().substr(0, 4) << " (" << Count(dimensions, "dim", "dims");
    if (groups.size() > 1) {
      *out << ", " << Count(group.studies, "study", "studies") << " of " << absl::StrJoin(group.workloads, ", ");
    }
    *out << "): "
         << absl::StrJoin(space, ", ", [](std::string* to, const auto& entry) { to->append(SpaceText(entry)); })
         << "   sampler " << group.study->sampler() << "   schedule " << group.study->schedule() << "\n";
  }
}

}  // namespace

nlohmann::ordered_json SpaceJson(const v1::Study& study) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const v1::SpaceEntry& entry : study.space()) {
    nlohmann::ordered_json& to = json[entry.name()];
    if (entry.has_fixed()) {
      to = JsonReal(entry.fixed());
      continue;
    }
    to = nlohmann::ordered_json::object();
    if (entry.has_values()) {
      to["values"] = std::vector<double>(entry.values().values().begin(), entry.values().values().end());
    } else {
      to["min"] = JsonReal(entry.range().min());
      to["max"] = JsonReal(entry.range().max());
      to["scale"] = entry.range().scale().empty() ? "linear" : entry.range().scale();
      if (entry.range().integer()) to["integer"] = true;
      if (entry.range().count() != 0) to["count"] = entry.range().count();
    }
    if (entry.times().budget()) to["times"] = "budget";
    if (entry.times().has_parameter()) to["times"] = entry.times().parameter();
    if (entry.times().has_batch_size()) {
      to["times"] = {{"batch_size", entry.times().batch_size().power()}, {"at", entry.times().batch_size().at()}};
    }
  }
  return json;
}

void PrintPlan(const std::string& sweep, const v1::SweepPlan& plan, Format format, std::ostream* out) {
  if (format != Format::kTable) return PrintRows(sweep, plan, format, out);
  // Studies by workload, in the order of the file.
  std::vector<std::string> workloads;
  for (const v1::Study& study : plan.studies()) {
    const std::string& address = study.workload().address();
    if (std::find(workloads.begin(), workloads.end(), address) == workloads.end()) workloads.push_back(address);
  }
  *out << "sweep " << sweep << ": " << Count(workloads.size(), "workload", "workloads") << ", "
       << Count(plan.studies_size(), "study", "studies") << ", " << Count(plan.wanted(), "trial", "trials")
       << " wanted (cap " << Grouped(plan.max_trials()) << ")\n";
  RowPrinter table(Format::kTable,
                   {{"", " ", kRight},  // Sets the table in.
                    {"", "batch", kRight},
                    {"", "trials", kRight},
                    {"", "budget steps", kRight},
                    {"", "epochs", kRight},
                    {"", "evaluations", kRight},
                    {"", "steps of all", kRight},
                    {"", "examples of all", kRight}},
                   out);
  for (const std::string& workload : workloads) {
    *out << "  " << workload << "\n";
    std::vector<Row> rows;
    for (const v1::Study& study : plan.studies()) {
      if (study.workload().address() != workload) continue;
      rows.push_back({Cell::Shown(""), Cell::Shown(absl::StrCat(study.batch_size())),
                      Cell::Shown(Grouped(study.wanted())), Cell::Shown(Grouped(study.budget_steps())),
                      Cell::Shown(study.training_examples() > 0 ? absl::StrFormat("%.1f", Epochs(study)) : "-"),
                      Cell::Shown(Grouped(study.evaluations())), Cell::Shown(Short(Steps(study))),
                      Cell::Shown(Short(Examples(study)))});
    }
    table.Print(rows);
  }
  *out << "  " << CostText(plan) << "\n";
  PrintSpaces(plan, out);
  if (plan.fitting_slots() > 0) {
    *out << "  " << Count(plan.fitting_workers(), "connected worker", "connected workers")
         << " could run this: " << Count(plan.fitting_slots(), "slot", "slots") << "\n";
    return;
  }
  std::set<std::string> reasons;
  for (const v1::Study& study : plan.studies()) {
    if (const std::string reason = WaitingText(study); !reason.empty()) reasons.insert(reason);
  }
  *out << "  no connected worker could run this" << (reasons.empty() ? "" : ": ") << absl::StrJoin(reasons, "; ")
       << "\n";
}

}  // namespace stepcurve
