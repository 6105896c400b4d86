// SPDX-License-Identifier: Apache-2.0
//
// Core's structs as the contract's messages, and back where a peer sends them. Every conversion is total unless it says
// StatusOr; an unknown or unspecified enum of a peer is std::nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "server/core/claim_plan.h"
#include "server/core/state.h"
#include "server/core/study_definition.h"
#include "server/core/sweep_plan.h"
#include "stepcurve/v1/study_definition.pb.h"
#include "stepcurve/v1/sweep.pb.h"
#include "stepcurve/v1/trial.pb.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

// Database ids of a study and what it belongs to.
struct StudyIds {
  int64_t study = 0;
  int64_t sweep = 0;
  int64_t workload = 0;
};

// For workers.
v1::StudyDefinition StudyDefinitionToProto(const StudyDefinition& study, const StudyIds& ids);

// The part of a v1::Study that its definition says: all but counts, wanted, max_trials and waiting_for.
v1::Study StudyToProto(const StudyDefinition& study, const StudyIds& ids);

// For validate_only: studies with ids 0, and the totals; without the workers' part.
v1::SweepPlan SweepPlanToProto(const SweepPlan& plan);

v1::Workload ToProto(const Workload& workload, int64_t id);
v1::EvaluationGrid ToProto(const EvaluationGrid& grid);
v1::SpaceEntry ToProto(const SpaceEntry& entry);
v1::StateCounts ToProto(const StateCounts& counts);
v1::TrialState ToProto(TrialState state);
v1::EndReason ToProto(EndReason reason);
v1::SweepState ToProto(SweepState state);
v1::Semantics ToProto(Semantics semantics);
v1::SlotClass ToProto(const SlotClass& slot);
v1::Capabilities ToProto(const Capabilities& can_run);
v1::Goal ToProto(const Goal& goal);

std::optional<TrialState> FromProto(v1::TrialState state);
std::optional<SweepState> FromProto(v1::SweepState state);
std::optional<Semantics> FromProto(v1::Semantics semantics);
SlotClass FromProto(const v1::SlotClass& slot);
Capabilities FromProto(const v1::Capabilities& can_run);

// INVALID_ARGUMENT unless the metric has the form of one, the comparison is given and the threshold is finite.
absl::StatusOr<Goal> GoalFromProto(const v1::Goal& goal);

}  // namespace stepcurve
