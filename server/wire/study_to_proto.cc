// SPDX-License-Identifier: Apache-2.0
#include "server/wire/study_to_proto.h"

#include <google/protobuf/duration.pb.h>

#include "absl/time/time.h"

namespace stepcurve {
namespace {

void SetDuration(absl::Duration duration, google::protobuf::Duration* proto) {
  const int64_t nanos = absl::ToInt64Nanoseconds(duration);
  proto->set_seconds(nanos / 1'000'000'000);
  proto->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

void SetOptions(const std::vector<Option>& options, google::protobuf::RepeatedPtrField<v1::Option>* protos) {
  for (const Option& option : options) {
    v1::Option* proto = protos->Add();
    proto->set_name(option.name);
    if (const auto* flag = std::get_if<bool>(&option.value)) {
      proto->set_flag(*flag);
    } else if (const auto* integer = std::get_if<int64_t>(&option.value)) {
      proto->set_integer(*integer);
    } else if (const auto* number = std::get_if<double>(&option.value)) {
      proto->set_number(*number);
    } else {
      proto->set_text(std::get<std::string>(option.value));
    }
  }
}

void SetTimes(const Times& times, v1::SpaceEntry& proto) {
  if (std::holds_alternative<TimesBudget>(times)) {
    proto.mutable_times()->set_budget(true);
  } else if (const auto* batch_size = std::get_if<TimesBatchSize>(&times)) {
    proto.mutable_times()->mutable_batch_size()->set_power(batch_size->power);
    proto.mutable_times()->mutable_batch_size()->set_at(batch_size->at);
  } else if (const auto* parameter = std::get_if<TimesParameter>(&times)) {
    proto.mutable_times()->set_parameter(parameter->name);
  }
}

}  // namespace

v1::Workload ToProto(const Workload& workload, int64_t id) {
  v1::Workload proto;
  proto.set_id(id);
  proto.set_dataset(workload.dataset);
  SetOptions(workload.data, proto.mutable_data());
  proto.set_model(workload.model);
  SetOptions(workload.options, proto.mutable_options());
  proto.set_optimizer(workload.optimizer);
  proto.set_variant(workload.variant);
  proto.set_address(WorkloadAddress(workload));
  return proto;
}

v1::EvaluationGrid ToProto(const EvaluationGrid& grid) {
  v1::EvaluationGrid proto;
  switch (grid.kind) {
    case EvaluationGrid::Kind::kGeometric:
      proto.mutable_geometric()->set_ratio_millionths(grid.ratio_millionths);
      proto.mutable_geometric()->set_first(grid.first);
      break;
    case EvaluationGrid::Kind::kEvery:
      proto.set_every(grid.every);
      break;
    case EvaluationGrid::Kind::kAt:
      proto.mutable_at()->mutable_steps()->Add(grid.at.begin(), grid.at.end());
      break;
  }
  return proto;
}

v1::SpaceEntry ToProto(const SpaceEntry& entry) {
  v1::SpaceEntry proto;
  proto.set_name(entry.name);
  if (const auto* fixed = std::get_if<FixedEntry>(&entry.kind)) {
    proto.set_fixed(fixed->value);
  } else if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) {
    proto.mutable_values()->mutable_values()->Add(values->values.begin(), values->values.end());
  } else {
    const auto& range = std::get<RangeEntry>(entry.kind);
    proto.mutable_range()->set_min(range.min);
    proto.mutable_range()->set_max(range.max);
    proto.mutable_range()->set_scale(std::string(ScaleName(range.scale)));
    proto.mutable_range()->set_integer(range.integer);
    proto.mutable_range()->set_count(range.count.value_or(0));
  }
  SetTimes(entry.times, proto);
  return proto;
}

v1::StudyDefinition StudyDefinitionToProto(const StudyDefinition& study, const StudyIds& ids) {
  v1::StudyDefinition proto;
  proto.set_study(ids.study);
  proto.set_sweep(ids.sweep);
  *proto.mutable_workload() = ToProto(study.workload, ids.workload);
  proto.set_batch_size(study.batch_size);
  proto.set_budget_steps(study.budget_steps);
  *proto.mutable_grid() = ToProto(study.grid);
  proto.mutable_metrics()->Add(study.metrics.begin(), study.metrics.end());
  for (std::string& name : study.ParameterNames()) proto.add_parameters(std::move(name));
  proto.set_schedule(study.schedule);
  proto.set_precision(study.precision);
  for (const auto& [split, every] : study.split_intervals) {
    auto* interval = proto.add_splits();
    interval->set_split(split);
    interval->set_every(every);
  }
  proto.set_train_examples(study.train_examples);
  for (const Goal& goal : study.goals) *proto.add_goals() = ToProto(goal);
  proto.set_stop_exact(study.stop_exact);
  proto.set_semantics(ToProto(study.semantics));
  proto.set_keep(static_cast<int32_t>(study.keep));
  SetDuration(study.no_progress_timeout, proto.mutable_no_progress_timeout());
  SetDuration(study.checkpoint_every, proto.mutable_checkpoint_every());
  proto.set_checkpoint_every_steps(study.checkpoint_every_steps);
  return proto;
}

v1::Study StudyToProto(const StudyDefinition& study, const StudyIds& ids) {
  v1::Study proto;
  proto.set_id(ids.study);
  *proto.mutable_workload() = ToProto(study.workload, ids.workload);
  proto.set_batch_size(study.batch_size);
  proto.set_budget_steps(study.budget_steps);
  proto.set_evaluations(CountEvaluations(study.grid, study.budget_steps));
  for (const SpaceEntry& entry : study.space) *proto.add_space() = ToProto(entry);
  proto.set_space_hash(SpaceHash(study));
  proto.set_schedule(study.schedule);
  proto.set_sampler(std::string(SamplerName(study.sampler)));
  *proto.mutable_grid() = ToProto(study.grid);
  proto.mutable_metrics()->Add(study.metrics.begin(), study.metrics.end());
  proto.set_training_examples(study.training_examples);
  return proto;
}

v1::SweepPlan SweepPlanToProto(const SweepPlan& plan) {
  v1::SweepPlan proto;
  for (const StudyPlan& study : plan.studies) {
    v1::Study* planned = proto.add_studies();
    *planned = StudyToProto(study.definition, {});
    for (const StrandPlan& strand : study.strands) {
      planned->set_wanted(planned->wanted() + strand.wanted);
      planned->set_max_trials(planned->max_trials() + strand.max_trials);
    }
  }
  proto.set_wanted(plan.wanted());
  proto.set_max_trials(plan.max_trials());
  proto.set_resolved(plan.resolved);
  return proto;
}

}  // namespace stepcurve
