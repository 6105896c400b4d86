// SPDX-License-Identifier: Apache-2.0
//
// The small ones: enums, counts, goals, slots and what a worker can run.
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "server/wire/study_to_proto.h"

namespace stepcurve {

// The contract numbers these enums in core's order, from 1.
static_assert(static_cast<int>(TrialState::kQueued) + 1 == v1::QUEUED);
static_assert(static_cast<int>(TrialState::kRunning) + 1 == v1::RUNNING);
static_assert(static_cast<int>(TrialState::kComplete) + 1 == v1::COMPLETE);
static_assert(static_cast<int>(TrialState::kInfeasible) + 1 == v1::INFEASIBLE);
static_assert(static_cast<int>(TrialState::kStopped) + 1 == v1::STOPPED);
static_assert(static_cast<int>(TrialState::kFailed) + 1 == v1::FAILED);
static_assert(static_cast<int>(TrialState::kCancelled) + 1 == v1::CANCELLED);
static_assert(static_cast<int>(EndReason::kBudget) + 1 == v1::BUDGET);
static_assert(static_cast<int>(EndReason::kDiverged) + 1 == v1::DIVERGED);
static_assert(static_cast<int>(EndReason::kExactStop) + 1 == v1::EXACT_STOP);
static_assert(static_cast<int>(EndReason::kGoalsReached) + 1 == v1::GOALS_REACHED);
static_assert(static_cast<int>(EndReason::kError) + 1 == v1::ERROR);
static_assert(static_cast<int>(EndReason::kLostTooOften) + 1 == v1::LOST_TOO_OFTEN);
static_assert(static_cast<int>(EndReason::kCancelled) + 1 == v1::BY_CANCEL);
static_assert(static_cast<int>(EndReason::kImported) + 1 == v1::IMPORTED);
static_assert(static_cast<int>(SweepState::kActive) + 1 == v1::ACTIVE);
static_assert(static_cast<int>(SweepState::kPaused) + 1 == v1::PAUSED);
static_assert(static_cast<int>(SweepState::kDone) + 1 == v1::DONE);
static_assert(static_cast<int>(SweepState::kCancelled) + 1 == v1::SWEEP_CANCELLED);
static_assert(static_cast<int>(Semantics::kPublished) + 1 == v1::PUBLISHED);
static_assert(static_cast<int>(Semantics::kReached) + 1 == v1::REACHED);
static_assert(static_cast<int>(Goal::Comparison::kLess) + 1 == v1::Goal::LESS);
static_assert(static_cast<int>(Goal::Comparison::kLessOrEqual) + 1 == v1::Goal::LESS_OR_EQUAL);
static_assert(static_cast<int>(Goal::Comparison::kGreater) + 1 == v1::Goal::GREATER);
static_assert(static_cast<int>(Goal::Comparison::kGreaterOrEqual) + 1 == v1::Goal::GREATER_OR_EQUAL);

namespace {

template <typename Proto, typename Core>
Proto Numbered(Core value) {
  return static_cast<Proto>(static_cast<int>(value) + 1);
}

// None for the zero value and for numbers of a later release. `last`: the largest known.
template <typename Core, typename Proto>
std::optional<Core> FromNumbered(Proto value, Core last) {
  const int number = static_cast<int>(value) - 1;
  if (number < 0 || number > static_cast<int>(last)) return std::nullopt;
  return static_cast<Core>(number);
}

}  // namespace

v1::TrialState ToProto(TrialState state) { return Numbered<v1::TrialState>(state); }
v1::EndReason ToProto(EndReason reason) { return Numbered<v1::EndReason>(reason); }
v1::SweepState ToProto(SweepState state) { return Numbered<v1::SweepState>(state); }
v1::Semantics ToProto(Semantics semantics) { return Numbered<v1::Semantics>(semantics); }

std::optional<TrialState> FromProto(v1::TrialState state) { return FromNumbered(state, TrialState::kCancelled); }
std::optional<SweepState> FromProto(v1::SweepState state) { return FromNumbered(state, SweepState::kCancelled); }
std::optional<Semantics> FromProto(v1::Semantics semantics) { return FromNumbered(semantics, Semantics::kReached); }

v1::StateCounts ToProto(const StateCounts& counts) {
  v1::StateCounts proto;
  proto.set_queued(counts[TrialState::kQueued]);
  proto.set_running(counts[TrialState::kRunning]);
  proto.set_complete(counts[TrialState::kComplete]);
  proto.set_infeasible(counts[TrialState::kInfeasible]);
  proto.set_stopped(counts[TrialState::kStopped]);
  proto.set_failed(counts[TrialState::kFailed]);
  proto.set_cancelled(counts[TrialState::kCancelled]);
  return proto;
}

v1::SlotClass ToProto(const SlotClass& slot) {
  v1::SlotClass proto;
  proto.set_device(slot.device);
  proto.set_devices(static_cast<int32_t>(slot.devices));
  proto.set_memory_bytes(slot.memory_bytes);
  proto.set_threads(slot.threads);
  proto.set_slots(slot.slots);
  proto.set_description(slot.description);
  return proto;
}

SlotClass FromProto(const v1::SlotClass& slot) {
  return {.device = slot.device(),
          .devices = slot.devices(),
          .memory_bytes = slot.memory_bytes(),
          .threads = slot.threads(),
          .slots = slot.slots(),
          .description = slot.description()};
}

v1::Capabilities ToProto(const Capabilities& can_run) {
  v1::Capabilities proto;
  for (const DatasetOffer& offer : can_run.datasets) {
    v1::Capabilities::Dataset* dataset = proto.add_datasets();
    dataset->set_name(offer.name);
    dataset->set_train_examples(offer.train_examples);
    dataset->set_val_examples(offer.val_examples);
    dataset->set_test_examples(offer.test_examples);
    dataset->set_fingerprint(offer.fingerprint);
  }
  proto.mutable_models()->Add(can_run.models.begin(), can_run.models.end());
  proto.mutable_optimizers()->Add(can_run.optimizers.begin(), can_run.optimizers.end());
  return proto;
}

Capabilities FromProto(const v1::Capabilities& proto) {
  Capabilities can_run;
  for (const v1::Capabilities::Dataset& dataset : proto.datasets()) {
    can_run.datasets.push_back({.name = dataset.name(),
                                .train_examples = dataset.train_examples(),
                                .val_examples = dataset.val_examples(),
                                .test_examples = dataset.test_examples(),
                                .fingerprint = dataset.fingerprint()});
  }
  can_run.models.insert(proto.models().begin(), proto.models().end());
  can_run.optimizers.insert(proto.optimizers().begin(), proto.optimizers().end());
  return can_run;
}

v1::Goal ToProto(const Goal& goal) {
  v1::Goal proto;
  proto.set_metric(goal.metric);
  proto.set_comparison(Numbered<v1::Goal::Comparison>(goal.comparison));
  proto.set_threshold(goal.threshold);
  return proto;
}

absl::StatusOr<Goal> GoalFromProto(const v1::Goal& proto) {
  const auto comparison = FromNumbered(proto.comparison(), Goal::Comparison::kGreaterOrEqual);
  if (!comparison.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("goal on ", proto.metric(), " has no comparison; one of < <= > >="));
  }
  if (!std::isfinite(proto.threshold())) {
    return absl::InvalidArgumentError(absl::StrCat("goal on ", proto.metric(), " has no finite threshold"));
  }
  Goal goal{.metric = proto.metric(), .comparison = *comparison, .threshold = proto.threshold()};
  // What a goal's text may be, its fields may be.
  return ParseGoal(FormatGoal(goal));
}

}  // namespace stepcurve
