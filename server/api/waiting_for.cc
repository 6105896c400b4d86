// SPDX-License-Identifier: Apache-2.0
#include "server/api/waiting_for.h"

#include <algorithm>
#include <optional>

namespace stepcurve {
namespace {

bool WorksFor(const SessionRow& session, int64_t sweep) {
  return !session.sweeps.has_value() || session.sweeps->empty() ||
         std::find(session.sweeps->begin(), session.sweeps->end(), sweep) != session.sweeps->end();
}

// How far the best slot gets through the checks of CanRun; none without a slot.
std::optional<Fit> BestFit(const StudyRow& study, absl::Span<const SessionRow> live) {
  // Later checks are nearer to fitting.
  constexpr Fit kNearest[] = {Fit::kFits,        Fit::kNoDevice, Fit::kWrongSizes,
                              Fit::kNoOptimizer, Fit::kNoModel,  Fit::kNoDataset};
  const auto rank = [&](Fit fit) { return std::find(std::begin(kNearest), std::end(kNearest), fit); };
  std::optional<Fit> best;
  for (const SessionRow& session : live) {
    if (!WorksFor(session, study.sweep)) continue;
    for (const SlotClass& slot : session.slot_classes) {
      const Fit fit = CanRun(study.definition, session.can_run, slot);
      if (fit == Fit::kFits) return fit;
      if (!best.has_value() || rank(fit) < rank(*best)) best = fit;
    }
  }
  return best;
}

}  // namespace

StudyWait WhyWaiting(const StudyRow& study, const SweepRow& sweep, absl::Span<const SessionRow> live) {
  if (study.counts[TrialState::kQueued] == 0 || study.counts[TrialState::kRunning] > 0) {
    return {v1::NOTHING, ""};
  }
  if (sweep.state == SweepState::kPaused) {
    return {v1::SWEEP_PAUSED, ""};
  }
  if (sweep.state != SweepState::kActive) {
    return {v1::NOTHING, ""};
  }
  if (sweep.max_running.has_value() && sweep.counts[TrialState::kRunning] >= *sweep.max_running) {
    return {v1::CAP, ""};
  }
  const std::optional<Fit> fit = BestFit(study, live);
  if (!fit.has_value()) {
    return {v1::WORKER, ""};
  }
  const Workload& workload = study.definition.workload;
  switch (*fit) {
    case Fit::kFits:
      return {v1::SLOTS, ""};
    case Fit::kNoDataset:
    case Fit::kWrongSizes:
      return {v1::WORKER_WITHOUT_DATASET, workload.dataset};
    case Fit::kNoModel:
      return {v1::WORKER_WITHOUT_MODEL, workload.model};
    case Fit::kNoOptimizer:
      return {v1::WORKER_WITHOUT_MODEL, workload.optimizer};
    case Fit::kNoDevice:
      return {v1::WORKER_WITHOUT_DEVICE, ""};
  }
  return {v1::WORKER, ""};
}

FittingSlots CountFitting(absl::Span<const StudyDefinition* const> studies, absl::Span<const SessionRow> live) {
  FittingSlots fitting;
  for (const SessionRow& session : live) {
    // A worker of one sweep alone will not serve a new one.
    if (session.sweeps.has_value() && !session.sweeps->empty()) continue;
    int64_t slots = 0;
    for (const SlotClass& slot : session.slot_classes) {
      const bool fits = std::any_of(studies.begin(), studies.end(), [&](const StudyDefinition* study) {
        return CanRun(*study, session.can_run, slot) == Fit::kFits;
      });
      if (fits) slots += slot.slots;
    }
    fitting.slots += slots;
    fitting.workers += slots > 0 ? 1 : 0;
  }
  return fitting;
}

}  // namespace stepcurve
