// SPDX-License-Identifier: Apache-2.0
//
// StudyDefinition as JSON. Doubles are written by shortest round trip; PostgreSQL's jsonb keeps them as exact decimals,
// but knows no negative zero, which is therefore written as text.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "server/core/study_definition.h"

namespace stepcurve {
namespace {

using Json = nlohmann::json;

constexpr const char* kNegativeZero = "-0";

// The one place that meets nlohmann's exceptions.
template <typename T>
absl::StatusOr<T> CatchJson(const std::function<T()>& body) {
  try {
    return body();
  } catch (const nlohmann::json::exception& e) {
    return absl::DataLossError(absl::StrCat("a stored study definition cannot be read: ", e.what()));
  }
}

Json Number(double value) {
  if (value == 0 && std::signbit(value)) return kNegativeZero;
  return value;
}

double ToNumber(const Json& json) {
  if (json.is_string() && json.get_ref<const std::string&>() == kNegativeZero) return -0.0;
  return json.get<double>();
}

Json Numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (double value : values) json.push_back(Number(value));
  return json;
}

std::vector<double> ToNumbers(const Json& json) {
  std::vector<double> values;
  values.reserve(json.size());
  for (const Json& value : json) values.push_back(ToNumber(value));
  return values;
}

// Options carry their type, as 1 and 1.0 are two values.
Json Options(const std::vector<Option>& options) {
  Json json = Json::array();
  for (const Option& option : options) {
    Json entry = {{"name", option.name}};
    if (const auto* flag = std::get_if<bool>(&option.value)) {
      entry["flag"] = *flag;
    } else if (const auto* integer = std::get_if<int64_t>(&option.value)) {
      entry["integer"] = *integer;
    } else if (const auto* number = std::get_if<double>(&option.value)) {
      entry["number"] = Number(*number);
    } else {
      entry["text"] = std::get<std::string>(option.value);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

std::vector<Option> ToOptions(const Json& json) {
  std::vector<Option> options;
  for (const Json& entry : json) {
    Option option{.name = entry.at("name")};
    if (entry.contains("flag")) {
      option.value = entry.at("flag").get<bool>();
    } else if (entry.contains("integer")) {
      option.value = entry.at("integer").get<int64_t>();
    } else if (entry.contains("number")) {
      option.value = ToNumber(entry.at("number"));
    } else {
      option.value = entry.at("text").get<std::string>();
    }
    options.push_back(std::move(option));
  }
  return options;
}

Json EntryJson(const SpaceEntry& entry) {
  Json json = {{"name", entry.name}};
  if (const auto* fixed = std::get_if<FixedEntry>(&entry.kind)) {
    json["fixed"] = Number(fixed->value);
  } else if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) {
    json["values"] = Numbers(values->values);
  } else {
    const auto& range = std::get<RangeEntry>(entry.kind);
    json["min"] = Number(range.min);
    json["max"] = Number(range.max);
    json["scale"] = static_cast<int>(range.scale);
    json["integer"] = range.integer;
    if (range.count.has_value()) json["count"] = *range.count;
  }
  if (std::holds_alternative<TimesBudget>(entry.times)) {
    json["times_budget"] = true;
  } else if (const auto* batch_size = std::get_if<TimesBatchSize>(&entry.times)) {
    json["times_batch_size"] = {{"power", Number(batch_size->power)}, {"at", batch_size->at}};
  } else if (const auto* parameter = std::get_if<TimesParameter>(&entry.times)) {
    json["times_parameter"] = parameter->name;
  }
  return json;
}

SpaceEntry ToEntry(const Json& json) {
  SpaceEntry entry{.name = json.at("name")};
  if (json.contains("fixed")) {
    entry.kind = FixedEntry{ToNumber(json.at("fixed"))};
  } else if (json.contains("values")) {
    entry.kind = ValuesEntry{ToNumbers(json.at("values"))};
  } else {
    RangeEntry range{.min = ToNumber(json.at("min")),
                     .max = ToNumber(json.at("max")),
                     .scale = static_cast<Scale>(json.at("scale").get<int>()),
                     .integer = json.at("integer")};
    if (json.contains("count")) range.count = json.at("count").get<int64_t>();
    entry.kind = range;
  }
  if (json.contains("times_budget")) {
    entry.times = TimesBudget{};
  } else if (json.contains("times_batch_size")) {
    const Json& batch_size = json.at("times_batch_size");
    entry.times = TimesBatchSize{.power = ToNumber(batch_size.at("power")), .at = batch_size.at("at")};
  } else if (json.contains("times_parameter")) {
    entry.times = TimesParameter{json.at("times_parameter")};
  }
  return entry;
}

Json GridJson(const EvaluationGrid& grid) {
  return {{"kind", static_cast<int>(grid.kind)},
          {"ratio_millionths", grid.ratio_millionths},
          {"first", grid.first},
          {"every", grid.every},
          {"at", grid.at}};
}

EvaluationGrid ToGrid(const Json& json) {
  return {.kind = static_cast<EvaluationGrid::Kind>(json.at("kind").get<int>()),
          .ratio_millionths = json.at("ratio_millionths"),
          .first = json.at("first"),
          .every = json.at("every"),
          .at = json.at("at").get<std::vector<int64_t>>()};
}

Json GoalJson(const Goal& goal) {
  return {{"metric", goal.metric},
          {"comparison", static_cast<int>(goal.comparison)},
          {"threshold", Number(goal.threshold)}};
}

Goal ToGoal(const Json& json) {
  return {.metric = json.at("metric"),
          .comparison = static_cast<Goal::Comparison>(json.at("comparison").get<int>()),
          .threshold = ToNumber(json.at("threshold"))};
}

Json WorkloadJson(const Workload& workload) {
  return {{"dataset", workload.dataset},          {"data", Options(workload.data)},  {"model", workload.model},
          {"options", Options(workload.options)}, {"optimizer", workload.optimizer}, {"variant", workload.variant}};
}

Workload ToWorkload(const Json& json) {
  return {.dataset = json.at("dataset"),
          .data = ToOptions(json.at("data")),
          .model = json.at("model"),
          .options = ToOptions(json.at("options")),
          .optimizer = json.at("optimizer"),
          .variant = json.at("variant")};
}

template <typename T>
Json Array(const std::vector<T>& items, Json (*one)(const T&)) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(one(item));
  return json;
}

template <typename T>
std::vector<T> ToArray(const Json& json, T (*one)(const Json&)) {
  std::vector<T> items;
  for (const Json& item : json) items.push_back(one(item));
  return items;
}

StudyDefinition ToStudy(const Json& json) {
  StudyDefinition study;
  study.workload = ToWorkload(json.at("workload"));
  study.batch_size = json.at("batch_size");
  study.training_examples = json.at("training_examples");
  study.budget_steps = json.at("budget_steps");
  study.grid = ToGrid(json.at("grid"));
  study.metrics = json.at("metrics").get<std::vector<std::string>>();
  study.schedule = json.at("schedule");
  study.precision = json.at("precision");
  study.space = ToArray(json.at("space"), &ToEntry);
  study.sampler = static_cast<SamplerKind>(json.at("sampler").get<int>());
  study.search_seed = json.at("search_seed");
  study.shared_points = json.at("shared_points");
  study.top_up = json.at("top_up");
  study.repeats = json.at("repeats");
  study.split = json.at("split");
  study.split_intervals = json.at("split_intervals").get<std::vector<std::pair<std::string, int64_t>>>();
  study.train_examples = json.at("train_examples");
  study.goals = ToArray(json.at("goals"), &ToGoal);
  study.stop_exact = json.at("stop_exact");
  study.semantics = static_cast<Semantics>(json.at("semantics").get<int>());
  study.keep = json.at("keep");
  const Json& needs = json.at("needs");
  study.needs = {
      .device = needs.at("device"), .devices = needs.at("devices"), .memory_bytes = needs.at("memory_bytes")};
  study.checkpoint_every = absl::Nanoseconds(json.at("checkpoint_every_ns").get<int64_t>());
  study.checkpoint_every_steps = json.at("checkpoint_every_steps");
  study.no_progress_timeout = absl::Nanoseconds(json.at("no_progress_timeout_ns").get<int64_t>());
  study.points = ToNumbers(json.at("points"));
  return study;
}

}  // namespace

std::string ToJson(const StudyDefinition& study) {
  const Json json = {
      {"workload", WorkloadJson(study.workload)},
      {"batch_size", study.batch_size},
      {"training_examples", study.training_examples},
      {"budget_steps", study.budget_steps},
      {"grid", GridJson(study.grid)},
      {"metrics", study.metrics},
      {"schedule", study.schedule},
      {"precision", study.precision},
      {"space", Array(study.space, &EntryJson)},
      {"sampler", static_cast<int>(study.sampler)},
      {"search_seed", study.search_seed},
      {"shared_points", study.shared_points},
      {"top_up", study.top_up},
      {"repeats", study.repeats},
      {"split", study.split},
      {"split_intervals", study.split_intervals},
      {"train_examples", study.train_examples},
      {"goals", Array(study.goals, &GoalJson)},
      {"stop_exact", study.stop_exact},
      {"semantics", static_cast<int>(study.semantics)},
      {"keep", study.keep},
      {"needs",
       {{"device", study.needs.device}, {"devices", study.needs.devices}, {"memory_bytes", study.needs.memory_bytes}}},
      {"checkpoint_every_ns", absl::ToInt64Nanoseconds(study.checkpoint_every)},
      {"checkpoint_every_steps", study.checkpoint_every_steps},
      {"no_progress_timeout_ns", absl::ToInt64Nanoseconds(study.no_progress_timeout)},
      {"points", Numbers(study.points)},
  };
  return json.dump();
}

absl::StatusOr<StudyDefinition> StudyDefinitionFromJson(absl::string_view json) {
  return CatchJson<StudyDefinition>([json] { return ToStudy(Json::parse(json.begin(), json.end())); });
}

}  // namespace stepcurve
