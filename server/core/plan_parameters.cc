// SPDX-License-Identifier: Apache-2.0
//
// Which metaparameters a study has, and what they may be.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/core/field_error.h"
#include "server/core/plan_space.h"

namespace stepcurve {
namespace {

std::vector<std::string> NamesOf(const std::vector<ParameterRow>& rows) {
  std::vector<std::string> names;
  for (const ParameterRow& row : rows) names.push_back(row.name);
  return names;
}

bool Has(const std::vector<ParameterRow>& rows, const std::string& name) {
  return std::any_of(rows.begin(), rows.end(), [&name](const ParameterRow& row) { return row.name == name; });
}

bool OptimizerHas(const std::string& optimizer, const std::string& name) {
  const OptimizerRow* row = FindOptimizer(optimizer);
  return row != nullptr && Has(row->parameters, name);
}

// Optimizers of the sweep's other workloads that have the parameter.
std::vector<std::string> OptimizersWith(const std::string& name, const SpaceContext& study) {
  std::vector<std::string> optimizers;
  for (const Workload& other : study.workloads) {
    if (Has(Metaparameters(other, study.schedule), name) &&
        std::find(optimizers.begin(), optimizers.end(), other.optimizer) == optimizers.end()) {
      optimizers.push_back(other.optimizer);
    }
  }
  return optimizers;
}

std::vector<std::string> SchedulesWith(const std::string& name, const Workload& workload) {
  std::vector<std::string> schedules;
  for (absl::string_view schedule : Schedules()) {
    if (Has(Metaparameters(workload, schedule), name)) schedules.push_back(std::string(schedule));
  }
  return schedules;
}

// Who lacks the parameter, and the way out.
std::string WhyUnknown(const std::string& name, const SpaceContext& study) {
  const std::vector<std::string> known = NamesOf(Metaparameters(study.workload, study.schedule));
  const std::string has = absl::StrCat(" (it has ", absl::StrJoin(known, ", "), ")");
  const bool some_optimizer_has = std::any_of(Optimizers().begin(), Optimizers().end(),
                                              [&name](const auto& row) { return Has(row.parameters, name); });
  if (some_optimizer_has && !OptimizerHas(study.workload.optimizer, name)) {
    const std::vector<std::string> others = OptimizersWith(name, study);
    return absl::StrCat("optimizer ", study.workload.optimizer, " has no ", name, has,
                        others.empty() ? "" : "; move it to an override for " + absl::StrJoin(others, ", "));
  }
  const std::vector<std::string> schedules = SchedulesWith(name, study.workload);
  if (!schedules.empty()) {
    return absl::StrCat("schedule ", study.schedule, " has no ", name, has, "; it exists for schedule ",
                        absl::StrJoin(schedules, ", "));
  }
  return absl::StrCat(WorkloadAddress(study.workload), " has no ", name, has,
                      "; nearest: ", absl::StrJoin(NearestNames(name, known), ", "));
}

}  // namespace

absl::StatusOr<ParameterRow> FindParameter(const std::string& name, const std::string& path,
                                           const SpaceContext& study) {
  for (ParameterRow& row : Metaparameters(study.workload, study.schedule)) {
    if (row.name == name) return std::move(row);
  }
  return FieldError(path, WhyUnknown(name, study));
}

absl::Status CheckRequired(const std::vector<std::string>& names, const std::string& path, const SpaceContext& study) {
  for (const ParameterRow& row : Metaparameters(study.workload, study.schedule)) {
    if (!row.required || std::find(names.begin(), names.end(), row.name) != names.end()) continue;
    const std::string owner = OptimizerHas(study.workload.optimizer, row.name) ? "optimizer " + study.workload.optimizer
                                                                               : "schedule " + study.schedule;
    return FieldError(path, absl::StrCat("has no ", row.name, ", which ", owner, " requires"));
  }
  return absl::OkStatus();
}

bool InDomain(const ParameterRow& row, double value, const StudyScale& scale) {
  return std::isfinite(value) && row.Contains(value) &&
         (!row.integer || value <= static_cast<double>(scale.budget_steps));
}

absl::Status CheckDomain(const ParameterRow& row, double value, const std::string& what, const std::string& path,
                         const StudyScale& scale) {
  if (!std::isfinite(value)) return FieldError(path, absl::StrCat(what, " is beyond the range of a number"));
  if (!row.Contains(value)) {
    return FieldError(path, absl::StrCat(what, " is outside ", row.Domain(), ", where ", row.name, " must lie"));
  }
  if (!InDomain(row, value, scale)) {
    return FieldError(path, absl::StrCat(what, " is above the budget of ", scale.budget_steps, " steps at batch size ",
                                         scale.batch_size));
  }
  return absl::OkStatus();
}

}  // namespace stepcurve
