// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_space.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"

#include "proto/support/goal.h"
#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/core/plan_range.h"

namespace stepcurve {
namespace {

absl::StatusOr<std::vector<double>> PlanValues(const std::vector<double>& values, const std::string& path) {
  if (values.empty()) return FieldError(path + ".values", "is empty; give at least one value");
  std::set<double> seen;
  for (double value : values) {
    if (!std::isfinite(value)) return FieldError(path + ".values", "must be finite numbers");
    if (!seen.insert(value).second) {
      return FieldError(path + ".values", absl::StrCat(FormatDouble(value), " is there twice"));
    }
  }
  return values;
}

absl::StatusOr<Times> PlanTimes(const SpaceEntrySpec& entry, const std::vector<Placed<SpaceEntrySpec>>& entries,
                                bool integer, const std::string& path) {
  if (std::holds_alternative<std::monostate>(entry.times)) return Times();
  if (std::holds_alternative<TimesBudgetSpec>(entry.times)) {
    if (!integer) {
      return FieldError(path,
                        absl::StrCat("times budget makes whole steps, and ", entry.name, " is no number of steps"));
    }
    return TimesBudget{};
  }
  if (integer) return FieldError(path, absl::StrCat(entry.name, " is a number of steps; only budget can multiply it"));
  if (const auto* by = std::get_if<TimesBatchSizeSpec>(&entry.times)) {
    if (by->at < 1)
      return FieldError(path + ".at", absl::StrCat("is ", by->at, "; it must be a batch size, at least 1"));
    if (!std::isfinite(by->power)) return FieldError(path + ".batch_size", "must be a finite power");
    return TimesBatchSize{.power = by->power, .at = by->at};
  }
  const std::string& name = std::get<TimesParameterSpec>(entry.times).name;
  const auto other = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.value.name == name; });
  if (other == entries.end() || name == entry.name) {
    return FieldError(path, absl::StrCat(name, " is neither budget nor another parameter of the space"));
  }
  if (std::holds_alternative<TimesParameterSpec>(other->value.times)) {
    return FieldError(path, absl::StrCat(name, " is itself multiplied by a parameter; there are no chains"));
  }
  return TimesParameter{name};
}

absl::StatusOr<SpaceEntry> PlanEntry(const Placed<SpaceEntrySpec>& placed,
                                     const std::vector<Placed<SpaceEntrySpec>>& entries, const ParameterRow& row,
                                     SamplerKind sampler) {
  const SpaceEntrySpec& spec = placed.value;
  SpaceEntry entry{.name = spec.name};
  STEPCURVE_ASSIGN_OR_RETURN(entry.times, PlanTimes(spec, entries, row.integer, placed.path + ".times"));
  if (const auto* fixed = std::get_if<FixedSpec>(&spec.kind)) {
    entry.kind = FixedEntry{fixed->value};
  } else if (const auto* values = std::get_if<ValuesSpec>(&spec.kind)) {
    STEPCURVE_ASSIGN_OR_RETURN(std::vector<double> planned, PlanValues(values->values, placed.path));
    entry.kind = ValuesEntry{std::move(planned)};
  } else if (const auto* range = std::get_if<RangeSpec>(&spec.kind)) {
    STEPCURVE_ASSIGN_OR_RETURN(const RangeEntry planned, PlanRange(*range, sampler == SamplerKind::kGrid, placed.path));
    if (row.integer && !planned.integer && std::holds_alternative<std::monostate>(entry.times)) {
      return FieldError(placed.path, absl::StrCat(spec.name,
                                                  " is a whole number of steps; write integer: true, or "
                                                  "a share of the budget and times: budget"));
    }
    entry.kind = planned;
  } else {
    return FieldError(placed.path, "is empty; write a number, {values: [...]} or {min, max}");
  }
  return entry;
}

// Coordinates between which, or at which, an entry is drawn.
std::vector<double> Extremes(const SpaceEntry& entry) {
  if (const auto* fixed = std::get_if<FixedEntry>(&entry.kind)) return {fixed->value};
  if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) return values->values;
  const auto& range = std::get<RangeEntry>(entry.kind);
  return {range.min, range.max};
}

// The least and the greatest value of an entry, before it is multiplied by another one.
std::vector<double> OwnExtremes(SpaceEntry entry, const StudyScale& scale) {
  if (std::holds_alternative<TimesParameter>(entry.times)) entry.times = {};
  std::vector<double> values;
  for (double coordinate : Extremes(entry)) values.push_back(ApplyTimes({entry}, {coordinate}, scale)[0]);
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  return {*least, *greatest};
}

std::string Describe(const SpaceEntry& entry, size_t which, double coordinate) {
  const bool range = std::holds_alternative<RangeEntry>(entry.kind);
  return absl::StrCat(range ? (which == 0 ? "min " : "max ") : "", FormatDouble(coordinate));
}

// All that can be drawn lies between products of ends, so ends are all that needs looking at.
absl::Status CheckReach(const SpaceEntry& entry, const SearchSpace& space, const ParameterRow& row,
                        const std::string& path, const StudyScale& scale) {
  const std::vector<double> coordinates = Extremes(entry);
  if (std::holds_alternative<TimesBudget>(entry.times) && static_cast<double>(scale.budget_steps) > 0x1p53) {
    return FieldError(path,
                      absl::StrCat("times a budget of ", scale.budget_steps, " steps is not exact; at most 2^53"));
  }
  for (size_t i = 0; i < coordinates.size(); ++i) {
    const std::string what = Describe(entry, i, coordinates[i]);
    if (const auto* times = std::get_if<TimesParameter>(&entry.times)) {
      const auto other = std::find_if(space.begin(), space.end(), [&](const auto& e) { return e.name == times->name; });
      for (double factor : OwnExtremes(*other, scale)) {
        const double value = coordinates[i] * factor;
        STEPCURVE_RETURN_IF_ERROR(CheckDomain(
            row, value, absl::StrCat(what, " x ", times->name, " ", FormatDouble(factor), " = ", FormatDouble(value)),
            path, scale));
      }
      continue;
    }
    // Rounding to whole steps lifts what is below one step, so a negative share must be met before it.
    if (std::holds_alternative<TimesBudget>(entry.times) && coordinates[i] < 0) {
      return FieldError(path, absl::StrCat(what, " of the budget is below 0"));
    }
    const double value = ApplyTimes({entry}, {coordinates[i]}, scale)[0];
    const bool multiplied = !std::holds_alternative<std::monostate>(entry.times);
    STEPCURVE_RETURN_IF_ERROR(CheckDomain(
        row, value,
        multiplied ? absl::StrCat(what, ", ", FormatDouble(value), " at batch size ", scale.batch_size, ",") : what,
        path, scale));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SearchSpace> PlanSpace(const std::vector<Placed<SpaceEntrySpec>>& entries, const std::string& space_path,
                                      const SpaceContext& study) {
  if (entries.empty()) return FieldError(space_path, "is required: a map of parameters, unless the sampler is points");
  SearchSpace space;
  std::vector<ParameterRow> rows;
  std::vector<std::string> names;
  for (const auto& placed : entries) {
    STEPCURVE_ASSIGN_OR_RETURN(ParameterRow row, FindParameter(placed.value.name, placed.path, study));
    STEPCURVE_ASSIGN_OR_RETURN(SpaceEntry entry, PlanEntry(placed, entries, row, study.sampler));
    names.push_back(entry.name);
    space.push_back(std::move(entry));
    rows.push_back(std::move(row));
  }
  STEPCURVE_RETURN_IF_ERROR(CheckRequired(names, space_path, study));
  for (size_t i = 0; i < space.size(); ++i) {
    STEPCURVE_RETURN_IF_ERROR(CheckReach(space[i], space, rows[i], entries[i].path, study.scale));
  }
  return space;
}

absl::StatusOr<PlannedPoints> PlanPoints(const PointsSpec& points, const std::string& path,
                                         const std::vector<int64_t>& batch_sizes, const SpaceContext& study) {
  const size_t columns = points.names.size();
  if (columns == 0 || points.values.empty()) return FieldError(path, "is required with the sampler points");
  if (points.values.size() % columns != 0) {
    return FieldError(path, absl::StrCat(points.values.size(), " values are no whole number of points of ", columns));
  }
  const size_t count = points.values.size() / columns;
  if (!points.batch_sizes.empty() && points.batch_sizes.size() != count) {
    return FieldError(path, absl::StrCat(points.batch_sizes.size(), " batch sizes for ", count, " points"));
  }
  std::vector<ParameterRow> rows;
  PlannedPoints planned;
  for (size_t j = 0; j < columns; ++j) {
    const std::string name_path = absl::StrCat(path, "[0].", points.names[j]);
    if (std::find(points.names.begin(), points.names.begin() + static_cast<int64_t>(j), points.names[j]) !=
        points.names.begin() + static_cast<int64_t>(j)) {
      return FieldError(name_path, "is there twice");
    }
    STEPCURVE_ASSIGN_OR_RETURN(ParameterRow row, FindParameter(points.names[j], name_path, study));
    rows.push_back(std::move(row));
    planned.space.push_back({.name = points.names[j], .kind = ValuesEntry{}});
  }
  STEPCURVE_RETURN_IF_ERROR(CheckRequired(points.names, path, study));
  for (size_t i = 0; i < count; ++i) {
    const int64_t batch_size = points.batch_sizes.empty() ? 0 : points.batch_sizes[i];
    if (batch_size != 0 && std::find(batch_sizes.begin(), batch_sizes.end(), batch_size) == batch_sizes.end()) {
      return FieldError(absl::StrCat(path, "[", i, "].batch_size"),
                        absl::StrCat(batch_size, " is no batch size of this sweep"));
    }
    if (batch_size != 0 && batch_size != study.scale.batch_size) continue;
    for (size_t j = 0; j < columns; ++j) {
      const double value = points.values[i * columns + j];
      if (!InDomain(rows[j], value, study.scale)) {
        return CheckDomain(rows[j], value, FormatDouble(value), absl::StrCat(path, "[", i, "].", points.names[j]),
                           study.scale);
      }
      planned.table.push_back(value);
    }
  }
  if (planned.table.empty()) {
    return FieldError(path, absl::StrCat("there is no point for batch size ", study.scale.batch_size));
  }
  return planned;
}

}  // namespace stepcurve
