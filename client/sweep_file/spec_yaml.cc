// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/spec_yaml.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/sweep_file/number.h"
#include "client/sweep_file/quantity.h"
#include "client/sweep_file/yaml_text.h"

namespace stepcurve {
namespace {

template <typename Texts>
std::string Names(const Texts& names) {
  return names.size() == 1 ? YamlText(names[0]) : YamlTextList(names);
}

std::string Flag(bool flag) { return flag ? "true" : "false"; }

std::string Options(const google::protobuf::RepeatedPtrField<v1::Option>& options) {
  YamlMap map;
  for (const v1::Option& option : options) {
    std::string value;
    switch (option.value_case()) {
      case v1::Option::kFlag:
        value = Flag(option.flag());
        break;
      case v1::Option::kInteger:
        value = absl::StrCat(option.integer());
        break;
      case v1::Option::kNumber:
        value = FormatReal(option.number());
        // Without a point it would come back as an integer.
        if (value.find_first_of(".e") == std::string::npos) value += ".0";
        break;
      default:
        value = YamlText(option.text());
    }
    map.Add(option.name(), value);
  }
  return map.Done();
}

std::string Workload(const v1::WorkloadSpec& workload) {
  return YamlMap()
      .Add("dataset", Names(workload.dataset()), !workload.dataset().empty())
      .Add("model", Names(workload.model()), !workload.model().empty())
      .Add("optimizer", Names(workload.optimizer()), !workload.optimizer().empty())
      .Add("data", Options(workload.data()), !workload.data().empty())
      .Add("options", Options(workload.options()), !workload.options().empty())
      .Add("variant", YamlText(workload.variant()), !workload.variant().empty())
      .Done();
}

std::string Sizes(const google::protobuf::RepeatedField<int64_t>& sizes, bool full) {
  std::string list = absl::StrJoin(sizes, ", ");
  if (full) absl::StrAppend(&list, list.empty() ? "" : ", ", "full");
  return absl::StrCat("[", list, "]");
}

std::string BatchSizes(const v1::BatchSizes& sizes) {
  const std::string list = Sizes(sizes.sizes(), sizes.full());
  if (!sizes.has_range()) return list;
  return YamlMap()
      .Add("from", absl::StrCat(sizes.range().from()))
      .Add("to", absl::StrCat(sizes.range().to()))
      .Add("factor", FormatReal(sizes.range().factor()))
      .Add("also", list, !sizes.sizes().empty() || sizes.full())
      .Done();
}

std::string Training(const v1::Training& training) {
  return YamlMap()
      .Add("schedule", YamlText(training.schedule()), training.has_schedule())
      .Add("precision", YamlText(training.precision()), training.has_precision())
      .Done();
}

std::string TimesText(const v1::Times& times) {
  switch (times.by_case()) {
    case v1::Times::kBatchSize:
      return YamlMap()
          .Add("batch_size", FormatReal(times.batch_size().power()))
          .Add("at", absl::StrCat(times.batch_size().at()))
          .Done();
    case v1::Times::kParameter:
      return YamlText(times.parameter());
    default:
      return "budget";
  }
}

std::string SpaceEntry(const v1::SpaceEntry& entry) {
  const auto real = [](std::string* out, double value) { out->append(FormatReal(value)); };
  YamlMap map;
  switch (entry.kind_case()) {
    case v1::SpaceEntry::kRange: {
      const v1::SpaceEntry::Range& range = entry.range();
      map.Add("min", FormatReal(range.min()))
          .Add("max", FormatReal(range.max()))
          .Add("scale", YamlText(range.scale()), !range.scale().empty())
          .Add("integer", "true", range.integer())
          .Add("count", absl::StrCat(range.count()), range.count() != 0);
      break;
    }
    case v1::SpaceEntry::kValues:
      map.Add("values", absl::StrCat("[", absl::StrJoin(entry.values().values(), ", ", real), "]"));
      break;
    case v1::SpaceEntry::kFixed:
      if (!entry.has_times()) return FormatReal(entry.fixed());
      // No file can say it so, but other clients can; a single value means the same.
      map.Add("values", absl::StrCat("[", FormatReal(entry.fixed()), "]"));
      break;
    default:
      return "null";
  }
  return map.Add("times", TimesText(entry.times()), entry.has_times()).Done();
}

std::string Budget(const v1::Budget& budget) {
  YamlMap entries;
  for (const v1::Budget::Entry& entry : budget.per_batch_size()) entries.Add(entry.batch_size(), entry.steps());
  return YamlMap()
      .Add("steps", absl::StrCat(budget.steps()), budget.has_steps())
      .Add("epochs", FormatReal(budget.epochs()), budget.has_epochs())
      .Add("per_batch_size", entries.Done(), !budget.per_batch_size().empty())
      .Add("at_least", absl::StrCat(budget.at_least()), budget.has_at_least())
      .Add("at_most", absl::StrCat(budget.at_most()), budget.has_at_most())
      .Done();
}

std::string Evaluation(const v1::Evaluation& evaluation) {
  YamlMap splits;
  for (const auto& split : evaluation.splits()) splits.Add(split.split(), absl::StrCat(split.every()));
  return YamlMap()
      .Add("geometric", FormatReal(evaluation.geometric()), evaluation.has_geometric())
      .Add("from", absl::StrCat(evaluation.from()), evaluation.has_from())
      .Add("every", absl::StrCat(evaluation.every()), evaluation.has_every())
      .Add("epochs", FormatReal(evaluation.epochs()), evaluation.has_epochs())
      .Add("at", absl::StrCat("[", absl::StrJoin(evaluation.at(), ", "), "]"), !evaluation.at().empty())
      .Add("splits", splits.Done(), !evaluation.splits().empty())
      .Add("train_examples", absl::StrCat(evaluation.train_examples()), evaluation.has_train_examples())
      .Done();
}

std::string Stop(const v1::Stop& stop) {
  return YamlMap()
      .Add("exact", Flag(stop.exact()), stop.has_exact())
      .Add("semantics", YamlText(stop.semantics()), stop.has_semantics())
      .Add("keep", absl::StrCat(stop.keep()), stop.has_keep())
      .Done();
}

std::string Resources(const v1::Resources& resources) {
  return YamlMap()
      .Add("device", YamlText(resources.device()), resources.has_device())
      .Add("devices", absl::StrCat(resources.devices()), resources.has_devices())
      .Add("memory", FormatMemory(resources.memory_bytes()), resources.has_memory_bytes())
      .Done();
}

std::string Checkpoint(const v1::Checkpoint& checkpoint) {
  const absl::Duration every =
      absl::Seconds(checkpoint.every().seconds()) + absl::Nanoseconds(checkpoint.every().nanos());
  return YamlMap()
      .Add("every", absl::StrCat(checkpoint.every_steps()), checkpoint.has_every_steps())
      .Add("every", FormatSpan(every), checkpoint.has_every() && !checkpoint.has_every_steps())
      .Done();
}

std::string Selector(const v1::Override::Selector& selector) {
  const bool range = selector.has_batch_size_from() || selector.has_batch_size_to();
  const std::string sizes = YamlMap()
                                .Add("from", absl::StrCat(selector.batch_size_from()), selector.has_batch_size_from())
                                .Add("to", absl::StrCat(selector.batch_size_to()), selector.has_batch_size_to())
                                .Done();
  return YamlMap()
      .Add("dataset", Names(selector.dataset()), !selector.dataset().empty())
      .Add("model", Names(selector.model()), !selector.model().empty())
      .Add("optimizer", Names(selector.optimizer()), !selector.optimizer().empty())
      .Add("variant", Names(selector.variant()), !selector.variant().empty())
      .Add("batch_size", range ? sizes : Sizes(selector.batch_sizes(), selector.full()),
           range || selector.full() || !selector.batch_sizes().empty())
      .Done();
}

YamlBlock Search(const v1::Search& search) {
  YamlBlock space;
  for (const v1::SpaceEntry& entry : search.space()) space.Add(entry.name(), SpaceEntry(entry));
  YamlBlock points;
  const int columns = search.points().names_size();
  for (int first = 0, row = 0; columns > 0 && first + columns <= search.points().values_size();
       first += columns, ++row) {
    YamlMap point;
    for (int i = 0; i < columns; ++i) {
      point.Add(search.points().names(i), FormatReal(search.points().values(first + i)));
    }
    const int64_t batch_size = row < search.points().batch_sizes_size() ? search.points().batch_sizes(row) : 0;
    points.AddItem(point.Add("batch_size", absl::StrCat(batch_size), batch_size != 0).Done());
  }
  return YamlBlock()
      .Add("sampler", YamlText(search.sampler()), search.has_sampler())
      .Add("seed", absl::StrCat(search.seed()), search.has_seed())
      .Add("trials", absl::StrCat(search.trials()), search.has_trials())
      .Add("max_trials", absl::StrCat(search.max_trials()), search.has_max_trials())
      .Add("top_up", Flag(search.top_up()), search.has_top_up())
      .Add("split", YamlText(search.split()), search.has_split())
      .Add("repeats", absl::StrCat(search.repeats()), search.has_repeats())
      .Add("points_across_batch_sizes", YamlText(search.points_across_batch_sizes()),
           search.has_points_across_batch_sizes())
      .Add("space", space, !space.empty())
      .Add("points", points, !points.empty())
      .Add("points", "[]", search.has_points() && points.empty());
}

// An empty section has no lines of its own.
void AddSearch(bool present, const v1::Search& search, YamlBlock* out) {
  const YamlBlock block = Search(search);
  out->Add("search", block, present && !block.empty()).Add("search", "{}", present && block.empty());
}

YamlBlock Override(const v1::Override& override) {
  YamlBlock block;
  block.Add("for", Selector(override.for_()), override.has_for_())
      .Add("training", Training(override.training()), override.has_training());
  AddSearch(override.has_search(), override.search(), &block);
  return block.Add("budget", Budget(override.budget()), override.has_budget())
      .Add("evaluation", Evaluation(override.evaluation()), override.has_evaluation())
      .Add("goals", YamlTextList(override.goals().goals()), override.has_goals())
      .Add("resources", Resources(override.resources()), override.has_resources())
      .Add("checkpoint", Checkpoint(override.checkpoint()), override.has_checkpoint())
      .Add("batch_sizes", BatchSizes(override.batch_sizes()), override.has_batch_sizes());
}

}  // namespace

std::string SpecYaml(const v1::SweepSpec& spec) {
  YamlBlock workloads;
  for (const v1::WorkloadSpec& workload : spec.workloads()) workloads.AddItem(Workload(workload));
  YamlBlock overrides;
  for (const v1::Override& override : spec.overrides()) {
    const YamlBlock block = Override(override);
    block.empty() ? overrides.AddItem("{}") : overrides.AddItem(block);
  }
  YamlBlock block;
  block.Add("name", YamlText(spec.name()), !spec.name().empty())
      .Add("description", YamlText(spec.description()), !spec.description().empty())
      .Add("tags", YamlTextList(spec.tags()), !spec.tags().empty())
      .Add("priority", absl::StrCat(spec.priority()), spec.priority() != 0)
      .Add("max_running", absl::StrCat(spec.max_running()), spec.has_max_running())
      .Add("workloads", workloads, !workloads.empty())
      .Add("batch_sizes", BatchSizes(spec.batch_sizes()), spec.has_batch_sizes())
      .Add("training", Training(spec.training()), spec.has_training());
  AddSearch(spec.has_search(), spec.search(), &block);
  block.Add("budget", Budget(spec.budget()), spec.has_budget())
      .Add("evaluation", Evaluation(spec.evaluation()), spec.has_evaluation())
      .Add("goals", YamlTextList(spec.goals()), !spec.goals().empty())
      .Add("stop", Stop(spec.stop()), spec.has_stop())
      .Add("resources", Resources(spec.resources()), spec.has_resources())
      .Add("checkpoint", Checkpoint(spec.checkpoint()), spec.has_checkpoint())
      .Add("overrides", overrides, !overrides.empty())
      .Add("version", absl::StrCat(spec.version()), spec.version() != 0);
  return block.Done();
}

}  // namespace stepcurve
