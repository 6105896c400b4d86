// SPDX-License-Identifier: Apache-2.0
#include "server/api/row_to_proto.h"

#include <cmath>

#include "server/wire/study_to_proto.h"

namespace stepcurve {

google::protobuf::Timestamp TimestampProto(absl::Time time) {
  const int64_t nanos = absl::ToUnixNanos(time);
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(absl::ToUnixSeconds(time));  // Floors.
  stamp.set_nanos(static_cast<int32_t>(nanos - stamp.seconds() * 1'000'000'000));
  return stamp;
}

google::protobuf::Duration DurationProto(double seconds) {
  google::protobuf::Duration duration;
  if (!std::isfinite(seconds)) return duration;
  duration.set_seconds(static_cast<int64_t>(seconds));
  duration.set_nanos(static_cast<int32_t>((seconds - std::trunc(seconds)) * 1e9));
  return duration;
}

v1::Sweep ToProto(const SweepRow& row) {
  v1::Sweep sweep;
  sweep.set_id(row.id);
  sweep.set_name(row.name);
  sweep.set_description(row.description);
  for (const std::string& tag : row.tags) sweep.add_tags(tag);
  sweep.set_state(ToProto(row.state));
  sweep.set_priority(row.priority);
  if (row.max_running.has_value()) sweep.set_max_running(*row.max_running);
  sweep.set_creator(row.creator);
  *sweep.mutable_create_time() = TimestampProto(row.create_time);
  if (row.end_time.has_value()) *sweep.mutable_end_time() = TimestampProto(*row.end_time);
  sweep.set_etag(row.version);
  sweep.set_semantics(ToProto(row.semantics));
  *sweep.mutable_counts() = ToProto(row.counts);
  sweep.set_studies(row.studies);
  sweep.set_wanted(row.wanted);
  for (const std::string& goal : row.goals) sweep.add_goals(goal);
  return sweep;
}

v1::Study ToProto(const StudyRow& row, const StudyWait& wait) {
  v1::Study study = StudyToProto(row.definition, {.study = row.id, .sweep = row.sweep, .workload = row.workload_id});
  study.mutable_workload()->set_address(row.address);
  study.set_wanted(row.wanted);
  study.set_max_trials(row.max_trials);
  *study.mutable_counts() = ToProto(row.counts);
  study.set_waiting_for(wait.why);
  study.set_missing(wait.missing);
  return study;
}

v1::Worker ToProto(const SessionRow& row) {
  v1::Worker worker;
  worker.set_session(row.key);
  worker.set_name(row.worker_name);
  worker.set_build(row.build);
  worker.set_connected(!row.ended_at.has_value());
  for (const SlotClass& slot : row.slot_classes) *worker.add_slots() = ToProto(slot);
  for (const DatasetOffer& dataset : row.can_run.datasets) worker.add_datasets(dataset.name);
  worker.set_running(row.running);
  *worker.mutable_start_time() = TimestampProto(row.start_time);
  if (row.ended_at.has_value()) *worker.mutable_end_time() = TimestampProto(*row.ended_at);
  worker.set_end_reason(row.end_reason);
  return worker;
}

v1::Attempt ToProto(const AttemptRow& row) {
  v1::Attempt attempt;
  attempt.set_attempt(row.attempt);
  attempt.set_worker(row.worker);
  attempt.set_device(row.device);
  attempt.set_threads(row.threads);
  attempt.set_build(row.build);
  attempt.set_base_step(row.base_step.value_or(-1));
  attempt.set_last_step(row.last_step);
  attempt.set_outcome(row.outcome);
  attempt.set_error(row.error);
  attempt.set_log_tail(row.log_tail);
  *attempt.mutable_start_time() = TimestampProto(row.start_time);
  if (row.end_time.has_value()) *attempt.mutable_end_time() = TimestampProto(*row.end_time);
  return attempt;
}

v1::Trial ToProto(const TrialRow& row, const StudyRow& study) {
  v1::Trial trial;
  trial.set_id(row.id);
  trial.set_sweep(study.sweep);
  trial.set_study(row.study);
  trial.set_workload(study.address);
  trial.set_batch_size(study.definition.batch_size);
  trial.set_number(row.number);
  trial.set_repeat(row.repeat);
  trial.set_state(ToProto(row.state));
  if (row.end_reason.has_value()) trial.set_end_reason(ToProto(*row.end_reason));
  const std::vector<std::string> names = study.definition.ParameterNames();
  const auto fill = [&](const std::vector<double>& values, auto* out) {
    for (size_t i = 0; i < values.size() && i < names.size(); ++i) {
      v1::NamedValue* named = out->Add();
      named->set_name(names[i]);
      named->set_value(values[i]);
    }
  };
  fill(row.parameters, trial.mutable_parameters());
  fill(row.coordinates.empty() ? row.parameters : row.coordinates, trial.mutable_coordinates());
  trial.set_training_seed(row.training_seed);
  trial.set_attempt(row.attempt);
  trial.set_last_step(row.last_step);
  if (row.diverged_step.has_value()) trial.set_diverged_step(*row.diverged_step);
  trial.set_budget_steps(study.definition.budget_steps);
  trial.set_crashes(row.crashes);
  trial.set_losses(row.losses);
  trial.set_error(row.error);
  trial.set_worker(row.worker);
  if (row.grant_time.has_value()) *trial.mutable_grant_time() = TimestampProto(*row.grant_time);
  if (row.end_time.has_value()) *trial.mutable_end_time() = TimestampProto(*row.end_time);
  *trial.mutable_train_time() = DurationProto(row.train_seconds);
  *trial.mutable_eval_time() = DurationProto(row.eval_seconds);
  return trial;
}

}  // namespace stepcurve
