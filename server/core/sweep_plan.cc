// SPDX-License-Identifier: Apache-2.0
#include "server/core/sweep_plan.h"

#include <algorithm>

#include "proto/support/hash.h"

namespace stepcurve {

int64_t SweepPlan::wanted() const {
  int64_t sum = 0;
  for (const StudyPlan& study : studies) {
    for (const StrandPlan& strand : study.strands) sum += strand.wanted;
  }
  return sum;
}

int64_t SweepPlan::max_trials() const {
  int64_t sum = 0;
  for (const StudyPlan& study : studies) {
    for (const StrandPlan& strand : study.strands) sum += strand.max_trials;
  }
  return sum;
}

std::vector<NewTrial> NewTrials(const StudyDefinition& study, const Sampler& sampler, int64_t first_position,
                                int64_t count, int64_t first_number) {
  const StudyScale scale{.budget_steps = study.budget_steps, .batch_size = study.batch_size};
  const std::string identity = WorkloadIdentity(study.workload);
  std::vector<NewTrial> trials;
  trials.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    NewTrial trial;
    trial.position = first_position + i;
    trial.number = first_number + i / study.repeats;
    trial.repeat = static_cast<int32_t>(trial.position % study.repeats);
    trial.training_seed = TrainingSeed(study.search_seed, identity, study.batch_size, trial.number, trial.repeat);
    trial.point = sampler.At(trial.position / study.repeats, scale);
    trials.push_back(std::move(trial));
  }
  return trials;
}

int64_t TopUp(const TopUpInput& strand) {
  if (!strand.top_up) return 0;
  const int64_t deficit =
      strand.wanted - (strand.complete + strand.stopped + strand.failed + strand.queued + strand.running);
  return std::max<int64_t>(
      0, std::min({deficit, strand.max_trials - strand.created, strand.sampler_size - strand.created}));
}

}  // namespace stepcurve
