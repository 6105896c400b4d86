// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/core/study_definition.h"

namespace stepcurve {
namespace {

std::string Values(const std::vector<double>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, double value) { out->append(FormatDouble(value)); });
}

std::string TimesText(const Times& times) {
  if (std::holds_alternative<TimesBudget>(times)) return ", times: budget";
  if (const auto* batch_size = std::get_if<TimesBatchSize>(&times)) {
    return absl::StrCat(", times: {batch_size: ", FormatDouble(batch_size->power), ", at: ", batch_size->at, "}");
  }
  if (const auto* parameter = std::get_if<TimesParameter>(&times)) return absl::StrCat(", times: ", parameter->name);
  return "";
}

std::string GridText(const EvaluationGrid& grid) {
  switch (grid.kind) {
    case EvaluationGrid::Kind::kGeometric:
      return absl::StrCat("geometric: ", FormatDouble(static_cast<double>(grid.ratio_millionths) / 1e6),
                          ", from: ", grid.first);
    case EvaluationGrid::Kind::kEvery:
      return absl::StrCat("every: ", grid.every);
    case EvaluationGrid::Kind::kAt:
      return absl::StrCat("at: [", absl::StrJoin(grid.at, ", "), "]");
  }
  return "";
}

std::string SplitsText(const StudyDefinition& study) {
  if (study.split_intervals.empty()) return "";
  return absl::StrCat(
      ", splits: {",
      absl::StrJoin(study.split_intervals, ", ",
                    [](std::string* out, const auto& split) { absl::StrAppend(out, split.first, ": ", split.second); }),
      "}");
}

}  // namespace

std::string DescribeEntry(const SpaceEntry& entry) {
  if (const auto* fixed = std::get_if<FixedEntry>(&entry.kind)) {
    if (std::holds_alternative<std::monostate>(entry.times)) return FormatDouble(fixed->value);
    return absl::StrCat("{values: [", FormatDouble(fixed->value), "]", TimesText(entry.times), "}");
  }
  if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) {
    return absl::StrCat("{values: [", Values(values->values), "]", TimesText(entry.times), "}");
  }
  const auto& range = std::get<RangeEntry>(entry.kind);
  return absl::StrCat("{min: ", FormatDouble(range.min), ", max: ", FormatDouble(range.max),
                      ", scale: ", ScaleName(range.scale), range.integer ? ", integer: true" : "",
                      range.count.has_value() ? absl::StrCat(", count: ", *range.count) : "", TimesText(entry.times),
                      "}");
}

absl::string_view ScaleName(Scale scale) {
  switch (scale) {
    case Scale::kLinear:
      return "linear";
    case Scale::kLog:
      return "log";
    case Scale::kReverseLog:
      return "reverse_log";
  }
  return "";
}

absl::string_view SamplerName(SamplerKind kind) {
  switch (kind) {
    case SamplerKind::kHalton:
      return "halton";
    case SamplerKind::kRandom:
      return "random";
    case SamplerKind::kGrid:
      return "grid";
    case SamplerKind::kPoints:
      return "points";
  }
  return "";
}

std::string ToYaml(const StudyDefinition& study, absl::Span<const int64_t> batch_sizes) {
  const std::string sizes = batch_sizes.size() == 1
                                ? absl::StrCat("batch_size: ", batch_sizes[0])
                                : absl::StrCat("batch_sizes: [", absl::StrJoin(batch_sizes, ", "), "]");
  std::string yaml =
      absl::StrCat("workload: ", WorkloadAddress(study.workload), "\n", sizes, "\nbudget: {steps: ", study.budget_steps,
                   "}", "\ntraining: {schedule: ", study.schedule, ", precision: ", study.precision, "}",
                   "\nsearch:\n  sampler: ", SamplerName(study.sampler), "\n  seed: ", study.search_seed,
                   "\n  top_up: ", study.top_up ? "true" : "false",
                   "\n  points_across_batch_sizes: ", study.shared_points ? "shared" : "independent");
  if (!study.split.empty()) absl::StrAppend(&yaml, "\n  split: ", study.split);
  if (study.repeats > 1) absl::StrAppend(&yaml, "\n  repeats: ", study.repeats);
  if (study.sampler == SamplerKind::kPoints) {
    absl::StrAppend(&yaml, "\n  points: ", study.points.size() / study.space.size(), " of ",
                    absl::StrJoin(study.ParameterNames(), ", "));
  } else {
    absl::StrAppend(&yaml, "\n  space:");
    for (const SpaceEntry& entry : study.space) {
      absl::StrAppend(&yaml, "\n    ", entry.name, ": ", DescribeEntry(entry));
    }
  }
  absl::StrAppend(&yaml, "\nevaluation: {", GridText(study.grid), SplitsText(study));
  if (study.train_examples > 0) absl::StrAppend(&yaml, ", train_examples: ", study.train_examples);
  absl::StrAppend(&yaml, "}\nmetrics: [", absl::StrJoin(study.metrics, ", "), "]");
  if (!study.goals.empty()) {
    absl::StrAppend(
        &yaml, "\ngoals: [\"",
        absl::StrJoin(study.goals, "\", \"", [](std::string* out, const Goal& goal) { out->append(FormatGoal(goal)); }),
        "\"]");
  }
  absl::StrAppend(&yaml, "\nresources: {device: ", study.needs.device, ", devices: ", study.needs.devices,
                  ", memory: ", study.needs.memory_bytes, "}\n");
  return yaml;
}

}  // namespace stepcurve
