// SPDX-License-Identifier: Apache-2.0
#include "server/wire/spec_from_proto.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/wire/proto_fields.h"

namespace stepcurve {
namespace {

template <typename T, typename Repeated>
std::vector<T> List(const Repeated& repeated) {
  return std::vector<T>(repeated.begin(), repeated.end());
}

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& repeated) {
  return List<std::string>(repeated);
}

absl::StatusOr<std::vector<Option>> Options(const google::protobuf::RepeatedPtrField<v1::Option>& repeated,
                                            const std::string& path) {
  std::vector<Option> options;
  for (const v1::Option& proto : repeated) {
    Option option{.name = proto.name()};
    switch (proto.value_case()) {
      case v1::Option::kFlag:
        option.value = proto.flag();
        break;
      case v1::Option::kInteger:
        option.value = static_cast<int64_t>(proto.integer());
        break;
      case v1::Option::kNumber:
        option.value = proto.number();
        break;
      case v1::Option::kText:
        option.value = proto.text();
        break;
      case v1::Option::VALUE_NOT_SET:
        return FieldError(absl::StrCat(path, ".", proto.name()), "has no value");
    }
    options.push_back(std::move(option));
  }
  return options;
}

absl::StatusOr<WorkloadSpec> ToSpec(const v1::WorkloadSpec& proto, const std::string& path) {
  WorkloadSpec spec;
  spec.dataset = Strings(proto.dataset());
  spec.model = Strings(proto.model());
  spec.optimizer = Strings(proto.optimizer());
  STEPCURVE_ASSIGN_OR_RETURN(spec.data, Options(proto.data(), path + ".data"));
  STEPCURVE_ASSIGN_OR_RETURN(spec.options, Options(proto.options(), path + ".options"));
  spec.variant = proto.variant();
  return spec;
}

BatchSizesSpec ToSpec(const v1::BatchSizes& proto) {
  BatchSizesSpec spec;
  spec.sizes = List<int64_t>(proto.sizes());
  if (proto.has_range()) {
    spec.range =
        GeometricSpec{.from = proto.range().from(), .to = proto.range().to(), .factor = proto.range().factor()};
  }
  spec.full = proto.full();
  return spec;
}

TrainingSpec ToSpec(const v1::Training& proto) {
  TrainingSpec spec;
  if (proto.has_schedule()) spec.schedule = proto.schedule();
  if (proto.has_precision()) spec.precision = proto.precision();
  return spec;
}

TimesSpec ToSpec(const v1::Times& proto) {
  switch (proto.by_case()) {
    case v1::Times::kBudget:
      if (proto.budget()) return TimesBudgetSpec{};
      return TimesSpec();
    case v1::Times::kBatchSize:
      return TimesBatchSizeSpec{.power = proto.batch_size().power(), .at = proto.batch_size().at()};
    case v1::Times::kParameter:
      return TimesParameterSpec{proto.parameter()};
    case v1::Times::BY_NOT_SET:
      return TimesSpec();
  }
  return TimesSpec();
}

SpaceEntrySpec ToSpec(const v1::SpaceEntry& proto) {
  SpaceEntrySpec spec{.name = proto.name()};
  switch (proto.kind_case()) {
    case v1::SpaceEntry::kFixed:
      spec.kind = FixedSpec{proto.fixed()};
      break;
    case v1::SpaceEntry::kValues:
      spec.kind = ValuesSpec{List<double>(proto.values().values())};
      break;
    case v1::SpaceEntry::kRange:
      spec.kind = RangeSpec{.min = proto.range().min(),
                            .max = proto.range().max(),
                            .scale = proto.range().scale(),
                            .integer = proto.range().integer(),
                            .count = proto.range().count()};
      break;
    case v1::SpaceEntry::kRemoved:
      if (proto.removed()) spec.kind = RemovedSpec{};
      break;
    case v1::SpaceEntry::KIND_NOT_SET:
      break;
  }
  spec.times = ToSpec(proto.times());
  return spec;
}

SearchSpec ToSpec(const v1::Search& proto) {
  SearchSpec spec;
  if (proto.has_sampler()) spec.sampler = proto.sampler();
  if (proto.has_seed()) spec.seed = proto.seed();
  if (proto.has_trials()) spec.trials = proto.trials();
  if (proto.has_max_trials()) spec.max_trials = proto.max_trials();
  if (proto.has_top_up()) spec.top_up = proto.top_up();
  if (proto.has_split()) spec.split = proto.split();
  if (proto.has_repeats()) spec.repeats = proto.repeats();
  if (proto.has_points_across_batch_sizes()) spec.points_across_batch_sizes = proto.points_across_batch_sizes();
  for (const v1::SpaceEntry& entry : proto.space()) spec.space.push_back(ToSpec(entry));
  if (proto.has_points()) {
    spec.points = PointsSpec{.names = Strings(proto.points().names()),
                             .values = List<double>(proto.points().values()),
                             .batch_sizes = List<int64_t>(proto.points().batch_sizes())};
  }
  return spec;
}

BudgetSpec ToSpec(const v1::Budget& proto) {
  BudgetSpec spec;
  if (proto.has_steps()) spec.steps = proto.steps();
  if (proto.has_epochs()) spec.epochs = proto.epochs();
  for (const v1::Budget::Entry& entry : proto.per_batch_size()) {
    spec.per_batch_size.push_back({.batch_size = entry.batch_size(), .steps = entry.steps()});
  }
  if (proto.has_at_least()) spec.at_least = proto.at_least();
  if (proto.has_at_most()) spec.at_most = proto.at_most();
  return spec;
}

EvaluationSpec ToSpec(const v1::Evaluation& proto) {
  EvaluationSpec spec;
  if (proto.has_geometric()) spec.geometric = proto.geometric();
  if (proto.has_from()) spec.from = proto.from();
  if (proto.has_every()) spec.every = proto.every();
  if (proto.has_epochs()) spec.epochs = proto.epochs();
  spec.at = List<int64_t>(proto.at());
  for (const v1::Evaluation::SplitInterval& split : proto.splits()) {
    spec.splits.push_back({.split = split.split(), .every = split.every()});
  }
  if (proto.has_train_examples()) spec.train_examples = proto.train_examples();
  return spec;
}

StopSpec ToSpec(const v1::Stop& proto) {
  StopSpec spec;
  if (proto.has_exact()) spec.exact = proto.exact();
  if (proto.has_semantics()) spec.semantics = proto.semantics();
  if (proto.has_keep()) spec.keep = proto.keep();
  return spec;
}

ResourcesSpec ToSpec(const v1::Resources& proto) {
  ResourcesSpec spec;
  if (proto.has_device()) spec.device = proto.device();
  if (proto.has_devices()) spec.devices = proto.devices();
  if (proto.has_memory_bytes()) spec.memory_bytes = proto.memory_bytes();
  return spec;
}

absl::StatusOr<CheckpointSpec> ToSpec(const v1::Checkpoint& proto, const std::string& path) {
  CheckpointSpec spec;
  if (proto.has_every()) {
    const auto& every = proto.every();
    const bool opposed = (every.seconds() > 0 && every.nanos() < 0) || (every.seconds() < 0 && every.nanos() > 0);
    // As google.protobuf.Duration bounds it; a day short of nothing that one would wait for.
    if (every.seconds() < -315'576'000'000 || every.seconds() > 315'576'000'000 || opposed ||
        every.nanos() <= -1'000'000'000 || every.nanos() >= 1'000'000'000) {
      return FieldError(path + ".every", "is no duration");
    }
    spec.every = absl::Seconds(every.seconds()) + absl::Nanoseconds(every.nanos());
  }
  if (proto.has_every_steps()) spec.every_steps = proto.every_steps();
  return spec;
}

SelectorSpec ToSpec(const v1::Override::Selector& proto) {
  SelectorSpec spec;
  spec.dataset = Strings(proto.dataset());
  spec.model = Strings(proto.model());
  spec.optimizer = Strings(proto.optimizer());
  spec.variant = Strings(proto.variant());
  spec.batch_sizes = List<int64_t>(proto.batch_sizes());
  if (proto.has_batch_size_from()) spec.batch_size_from = proto.batch_size_from();
  if (proto.has_batch_size_to()) spec.batch_size_to = proto.batch_size_to();
  spec.full = proto.full();
  return spec;
}

absl::StatusOr<OverrideSpec> ToSpec(const v1::Override& proto, const std::string& path) {
  OverrideSpec spec;
  spec.selector = ToSpec(proto.for_());
  if (proto.has_training()) spec.training = ToSpec(proto.training());
  if (proto.has_search()) spec.search = ToSpec(proto.search());
  if (proto.has_budget()) spec.budget = ToSpec(proto.budget());
  if (proto.has_evaluation()) spec.evaluation = ToSpec(proto.evaluation());
  if (proto.has_goals()) spec.goals = Strings(proto.goals().goals());
  if (proto.has_resources()) spec.resources = ToSpec(proto.resources());
  if (proto.has_checkpoint()) {
    STEPCURVE_ASSIGN_OR_RETURN(spec.checkpoint, ToSpec(proto.checkpoint(), path + ".checkpoint"));
  }
  if (proto.has_batch_sizes()) spec.batch_sizes = ToSpec(proto.batch_sizes());
  return spec;
}

}  // namespace

absl::StatusOr<SweepSpec> SpecFromProto(const v1::SweepSpec& proto) {
  STEPCURVE_RETURN_IF_ERROR(CheckFields(proto));
  SweepSpec spec;
  spec.name = proto.name();
  spec.description = proto.description();
  spec.tags = Strings(proto.tags());
  spec.priority = proto.priority();
  if (proto.has_max_running()) spec.max_running = proto.max_running();
  for (int i = 0; i < proto.workloads_size(); ++i) {
    STEPCURVE_ASSIGN_OR_RETURN(WorkloadSpec workload, ToSpec(proto.workloads(i), absl::StrCat("workloads[", i, "]")));
    spec.workloads.push_back(std::move(workload));
  }
  if (proto.has_batch_sizes()) spec.batch_sizes = ToSpec(proto.batch_sizes());
  spec.training = ToSpec(proto.training());
  spec.search = ToSpec(proto.search());
  if (proto.has_budget()) spec.budget = ToSpec(proto.budget());
  spec.evaluation = ToSpec(proto.evaluation());
  spec.goals = Strings(proto.goals());
  spec.stop = ToSpec(proto.stop());
  spec.resources = ToSpec(proto.resources());
  STEPCURVE_ASSIGN_OR_RETURN(spec.checkpoint, ToSpec(proto.checkpoint(), "checkpoint"));
  for (int i = 0; i < proto.overrides_size(); ++i) {
    STEPCURVE_ASSIGN_OR_RETURN(OverrideSpec over, ToSpec(proto.overrides(i), absl::StrCat("overrides[", i, "]")));
    spec.overrides.push_back(std::move(over));
  }
  spec.version = proto.version();
  return spec;
}

}  // namespace stepcurve
