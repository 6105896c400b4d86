// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/study_definition.h"

namespace stepcurve {

// One sequence of points of a planned study.
struct StrandPlan {
  std::optional<double> split_value;
  int64_t wanted = 0;  // Trials: points x repeats.
  int64_t max_trials = 0;
  int64_t initial = 0;  // Trials made at submit: min(wanted, what the sampler has).
};

struct StudyPlan {
  StudyDefinition definition;
  std::string space_hash;
  std::vector<StrandPlan> strands;
};

// What a sweep's spec comes to: everything that submitting it writes. Points are not listed; NewTrials makes them.
struct SweepPlan {
  std::string name;
  std::string description;
  std::vector<std::string> tags;
  int32_t priority = 0;
  std::optional<int64_t> max_running;
  Semantics semantics = Semantics::kPublished;
  std::vector<std::string> goals;  // Canonical text of the sweep's own goals.
  std::vector<StudyPlan> studies;  // In the file's order of workloads, then by batch size.
  std::string resolved;            // YAML of every distinct study.

  int64_t wanted() const;
  int64_t max_trials() const;
};

// A trial to insert. Numbers count from 1 within a study, positions from 0 within a strand.
struct NewTrial {
  int64_t number = 0;
  int64_t position = 0;
  int32_t repeat = 0;
  uint64_t training_seed = 0;
  Point point;
};

// Trials `first_position` to `first_position + count - 1` of a strand. `first_number`: number of the first new point.
// With repeats, position = point x repeats + repeat, and count and first_position are multiples of repeats.
std::vector<NewTrial> NewTrials(const StudyDefinition& study, const Sampler& sampler, int64_t first_position,
                                int64_t count, int64_t first_number);

// How many trials to add to a strand whose trials stand at `counts`: only INFEASIBLE ones are replaced, so the set of
// points is a function of the file and of which points diverge, never of faults or timing.
//   deficit = wanted - (complete + stopped + failed + queued + running); at most max_trials - created and what the
//   sampler still has. 0 without top_up.
struct TopUpInput {
  bool top_up = true;
  int64_t wanted = 0;
  int64_t max_trials = 0;
  int64_t created = 0;
  int64_t sampler_size = 0;  // In trials.
  int64_t complete = 0, stopped = 0, failed = 0, queued = 0, running = 0;
};
int64_t TopUp(const TopUpInput& strand);

}  // namespace stepcurve
