// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_staircases.h"

#include "server/store/flush_records.h"

namespace stepcurve {
namespace {

// Of 16 bytes each. Past it everything is forgotten and read back from chunks when it is needed.
constexpr size_t kMostEntries = 4'000'000;

size_t CountEntries(const TrialStaircases& staircases) {
  size_t count = 0;
  for (int metric = 0; metric < staircases.metrics(); ++metric) {
    count += staircases.falling(metric).steps.size() + staircases.rising(metric).steps.size();
  }
  return count;
}

}  // namespace

const TrialStaircases* FlushStaircases::Find(const TrialSnapshot& before) const {
  const auto found = running_.find(before.trial);
  const bool current = found != running_.end() && found->second.attempt == before.attempt &&
                       found->second.last_step == before.last_step && before.base_step.has_value();
  return current ? &found->second.staircases : nullptr;
}

void FlushStaircases::Store(const TrialMove& move, const AttemptEvents& events, int metrics) {
  const bool starts = move.before.persisted_step() < 0;
  const bool known = starts || Find(move.before) != nullptr;
  if (move.ends_attempt() || !known) {
    Forget(move.before.trial);
    return;
  }
  if (move.first_new == events.steps.size()) {
    return;
  }
  if (starts) {
    Forget(move.before.trial);
  }
  if (entries_ > kMostEntries) {
    running_.clear();
    entries_ = 0;
    return;
  }
  Running& running =
      running_.try_emplace(move.before.trial, Running{.staircases = TrialStaircases(metrics)}).first->second;
  running.attempt = move.before.attempt;
  running.last_step = move.last_step;
  AddPoints(events.steps, events.values, move.first_new, running.staircases);
  const size_t entries = CountEntries(running.staircases);
  entries_ += entries - running.entries;
  running.entries = entries;
}

void FlushStaircases::Forget(int64_t trial) {
  if (const auto found = running_.find(trial); found != running_.end()) {
    entries_ -= found->second.entries;
    running_.erase(found);
  }
}

}  // namespace stepcurve
