// SPDX-License-Identifier: Apache-2.0
#include "server/core/canonical_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "proto/support/goal.h"
#include "proto/support/hash.h"

namespace stepcurve {
namespace {

std::string Text(const std::string& value) { return value; }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(int64_t value) { return absl::StrCat(value); }
std::string Text(double value) { return FormatDouble(value); }
std::string Text(absl::Duration value) { return absl::FormatDuration(value); }

template <typename T>
std::string List(const std::vector<T>& values) {
  return absl::StrCat(
      "[", absl::StrJoin(values, ", ", [](std::string* out, const T& value) { out->append(Text(value)); }), "]");
}

// Paths and values in the order of the contract's fields. The same code writes a section of the sweep, where what
// equals the default says nothing, and of an override, where being there is what counts.
class Lines final {
 public:
  using Line = std::pair<std::string, std::string>;

  explicit Lines(bool in_override = false) : in_override_(in_override) {}

  void Add(const std::string& path, std::string value) { lines_.emplace_back(path, std::move(value)); }

  template <typename T>
  void Add(const std::string& path, const std::optional<T>& value) {
    if (value.has_value()) Add(path, Text(*value));
  }

  template <typename T>
  void Add(const std::string& path, const std::optional<T>& value, const T& default_value) {
    if (value.has_value() && (in_override_ || *value != default_value)) Add(path, Text(*value));
  }

  template <typename T>
  void AddList(const std::string& path, const std::vector<T>& values) {
    if (!values.empty()) Add(path, List(values));
  }

  void Append(const Lines& other) { lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end()); }

  const std::vector<Line>& lines() const { return lines_; }

 private:
  bool in_override_;
  std::vector<Line> lines_;
};

std::string ValueText(const Option::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return Text(*flag);
  if (const auto* integer = std::get_if<int64_t>(&value)) return Text(*integer);
  if (const auto* number = std::get_if<double>(&value)) return Text(*number);
  return absl::StrCat("\"", std::get<std::string>(value), "\"");
}

void AddOptions(Lines& lines, const std::string& path, std::vector<Option> options) {
  std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) { return a.name < b.name; });
  for (const Option& option : options) lines.Add(absl::StrCat(path, ".", option.name), ValueText(option.value));
}

void AddWorkload(Lines& lines, const std::string& path, const WorkloadSpec& workload) {
  lines.AddList(path + ".dataset", workload.dataset);
  lines.AddList(path + ".model", workload.model);
  lines.AddList(path + ".optimizer", workload.optimizer);
  AddOptions(lines, path + ".data", workload.data);
  AddOptions(lines, path + ".options", workload.options);
  if (!workload.variant.empty()) lines.Add(path + ".variant", workload.variant);
}

// One line: the sizes are a set.
void AddBatchSizes(Lines& lines, const std::string& path, const BatchSizesSpec& sizes) {
  std::vector<int64_t> sorted = sizes.sizes;
  std::sort(sorted.begin(), sorted.end());
  std::string value = List(sorted);
  if (sizes.range.has_value()) {
    absl::StrAppend(&value, " from ", sizes.range->from, " to ", sizes.range->to, " factor ",
                    Text(sizes.range->factor));
  }
  if (sizes.full) value += " full";
  lines.Add(path, std::move(value));
}

void AddTraining(Lines& lines, const std::string& path, const TrainingSpec& training) {
  lines.Add(path + ".schedule", training.schedule, std::string("constant"));
  lines.Add(path + ".precision", training.precision, std::string("float32"));
}

std::string TimesText(const TimesSpec& times) {
  if (std::holds_alternative<TimesBudgetSpec>(times)) return " times budget";
  if (const auto* batch_size = std::get_if<TimesBatchSizeSpec>(&times)) {
    return absl::StrCat(" times batch_size ", Text(batch_size->power), " at ", batch_size->at);
  }
  if (const auto* parameter = std::get_if<TimesParameterSpec>(&times)) return absl::StrCat(" times ", parameter->name);
  return "";
}

std::string EntryText(const SpaceEntrySpec& entry) {
  std::string text;
  if (const auto* fixed = std::get_if<FixedSpec>(&entry.kind)) {
    text = Text(fixed->value);
  } else if (const auto* values = std::get_if<ValuesSpec>(&entry.kind)) {
    text = List(values->values);
  } else if (const auto* range = std::get_if<RangeSpec>(&entry.kind)) {
    text =
        absl::StrCat(Text(range->min), " to ", Text(range->max), " ", range->scale.empty() ? "linear" : range->scale,
                     range->integer ? " integer" : "", range->count == 0 ? "" : absl::StrCat(" count ", range->count));
  } else if (std::holds_alternative<RemovedSpec>(entry.kind)) {
    text = "removed";
  }
  return text + TimesText(entry.times);
}

void AddSearch(Lines& lines, const std::string& path, const SearchSpec& search) {
  // Points alone make the sampler points.
  lines.Add(path + ".sampler", search.sampler, std::string(search.points.has_value() ? "points" : "halton"));
  lines.Add(path + ".seed", search.seed, int64_t{0});
  lines.Add(path + ".trials", search.trials);
  lines.Add(path + ".max_trials", search.max_trials);
  lines.Add(path + ".top_up", search.top_up, true);
  lines.Add(path + ".split", search.split);
  lines.Add(path + ".repeats", search.repeats, int64_t{1});
  lines.Add(path + ".points_across_batch_sizes", search.points_across_batch_sizes, std::string("independent"));
  for (const SpaceEntrySpec& entry : search.space) {
    lines.Add(absl::StrCat(path, ".space.", entry.name), EntryText(entry));
  }
  if (search.points.has_value()) {
    lines.Add(path + ".points", absl::StrCat(List(search.points->names), " ", List(search.points->values), " ",
                                             List(search.points->batch_sizes)));
  }
}

void AddBudget(Lines& lines, const std::string& path, const BudgetSpec& budget) {
  lines.Add(path + ".steps", budget.steps);
  lines.Add(path + ".epochs", budget.epochs);
  std::vector<BudgetEntrySpec> entries = budget.per_batch_size;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.batch_size < b.batch_size; });
  for (const BudgetEntrySpec& entry : entries) {
    lines.Add(absl::StrCat(path, ".per_batch_size.", entry.batch_size), Text(entry.steps));
  }
  lines.Add(path + ".at_least", budget.at_least);
  lines.Add(path + ".at_most", budget.at_most);
}

void AddEvaluation(Lines& lines, const std::string& path, const EvaluationSpec& evaluation) {
  lines.Add(path + ".geometric", evaluation.geometric, 1.05);
  lines.Add(path + ".from", evaluation.from);
  lines.Add(path + ".every", evaluation.every);
  lines.Add(path + ".epochs", evaluation.epochs);
  std::vector<int64_t> at = evaluation.at;
  std::sort(at.begin(), at.end());
  lines.AddList(path + ".at", at);
  std::vector<SplitIntervalSpec> splits = evaluation.splits;
  std::sort(splits.begin(), splits.end(), [](const auto& a, const auto& b) { return a.split < b.split; });
  for (const SplitIntervalSpec& split : splits) {
    lines.Add(absl::StrCat(path, ".splits.", split.split), Text(split.every));
  }
  lines.Add(path + ".train_examples", evaluation.train_examples);
}

// Spacing and spelling of numbers in a goal mean nothing.
void AddGoals(Lines& lines, const std::string& path, const std::vector<std::string>& goals) {
  for (size_t i = 0; i < goals.size(); ++i) {
    const auto goal = ParseGoal(goals[i]);
    lines.Add(absl::StrCat(path, "[", i, "]"), goal.ok() ? FormatGoal(*goal) : goals[i]);
  }
}

void AddResources(Lines& lines, const std::string& path, const ResourcesSpec& resources) {
  lines.Add(path + ".device", resources.device, std::string("any"));
  lines.Add(path + ".devices", resources.devices, int64_t{1});
  lines.Add(path + ".memory", resources.memory_bytes);
}

void AddCheckpoint(Lines& lines, const std::string& path, const CheckpointSpec& checkpoint) {
  lines.Add(path + ".every", checkpoint.every, absl::Minutes(10));
  lines.Add(path + ".every", checkpoint.every_steps);
}

void AddSelector(Lines& lines, const std::string& path, const SelectorSpec& selector) {
  lines.AddList(path + ".dataset", selector.dataset);
  lines.AddList(path + ".model", selector.model);
  lines.AddList(path + ".optimizer", selector.optimizer);
  lines.AddList(path + ".variant", selector.variant);
  lines.AddList(path + ".batch_size", selector.batch_sizes);
  lines.Add(path + ".batch_size.from", selector.batch_size_from);
  lines.Add(path + ".batch_size.to", selector.batch_size_to);
  if (selector.full) lines.Add(path + ".batch_size", "full");
}

Lines OverrideLines(const OverrideSpec& over, const std::string& path) {
  Lines lines(/*in_override=*/true);
  AddSelector(lines, path + ".for", over.selector);
  // A section that is there and empty still replaces one, so it gets a line of its own.
  const auto section = [&](const auto& value, const char* name, auto add) {
    if (!value.has_value()) return;
    lines.Add(absl::StrCat(path, ".", name), "given");
    add(lines, absl::StrCat(path, ".", name), *value);
  };
  section(over.training, "training", AddTraining);
  section(over.search, "search", AddSearch);
  section(over.budget, "budget", AddBudget);
  section(over.evaluation, "evaluation", AddEvaluation);
  section(over.goals, "goals", AddGoals);
  section(over.resources, "resources", AddResources);
  section(over.checkpoint, "checkpoint", AddCheckpoint);
  section(over.batch_sizes, "batch_sizes", AddBatchSizes);
  return lines;
}

Lines SpecLines(const SweepSpec& spec) {
  Lines lines;
  lines.Add("name", spec.name);
  for (size_t i = 0; i < spec.workloads.size(); ++i)
    AddWorkload(lines, absl::StrCat("workloads[", i, "]"), spec.workloads[i]);
  if (spec.batch_sizes.has_value()) AddBatchSizes(lines, "batch_sizes", *spec.batch_sizes);
  AddTraining(lines, "training", spec.training);
  AddSearch(lines, "search", spec.search);
  if (spec.budget.has_value()) AddBudget(lines, "budget", *spec.budget);
  AddEvaluation(lines, "evaluation", spec.evaluation);
  AddGoals(lines, "goals", spec.goals);
  lines.Add("stop.exact", spec.stop.exact, false);
  lines.Add("stop.semantics", spec.stop.semantics);
  lines.Add("stop.keep", spec.stop.keep, int64_t{1});
  AddResources(lines, "resources", spec.resources);
  AddCheckpoint(lines, "checkpoint", spec.checkpoint);
  for (size_t i = 0; i < spec.overrides.size(); ++i) {
    lines.Append(OverrideLines(spec.overrides[i], absl::StrCat("overrides[", i, "]")));
  }
  return lines;
}

}  // namespace

std::string CanonicalText(const SweepSpec& spec) {
  std::string text;
  const Lines lines = SpecLines(spec);
  for (const auto& [path, value] : lines.lines()) absl::StrAppend(&text, path, ": ", value, "\n");
  return text;
}

std::string SpecDigest(const SweepSpec& spec) { return absl::StrFormat("%016x", Fnv1a64(CanonicalText(spec))); }

std::string FirstDifference(const SweepSpec& old, const SweepSpec& changed) {
  const Lines old_lines = SpecLines(old);
  const Lines changed_lines = SpecLines(changed);
  const auto& a = old_lines.lines();
  const auto& b = changed_lines.lines();
  const auto [before, after] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (before == a.end() && after == b.end()) return "";
  if (before == a.end()) return after->first;
  if (after == b.end()) return before->first;
  // Something was added or removed here, or the two lines are about the same thing.
  std::set<std::string> old_paths;
  for (const auto& line : a) old_paths.insert(line.first);
  return old_paths.contains(after->first) ? before->first : after->first;
}

}  // namespace stepcurve
