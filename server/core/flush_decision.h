// SPDX-License-Identifier: Apache-2.0
//
// What a flush does to trials and strands, decided in memory: snapshot and events in, writes and answers out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "server/core/events.h"
#include "server/core/retry_caps.h"
#include "server/core/state.h"

namespace stepcurve {

// A trial as a flush finds it.
struct TrialSnapshot {
  int64_t trial = 0;
  int64_t study = 0;
  int64_t strand = 0;
  int64_t number = 0;
  int64_t attempt = 0;
  int64_t session = 0;      // 0: not running.
  int32_t slot_class = -1;  // Of the session; -1: not known.
  TrialState state = TrialState::kQueued;
  std::optional<EndReason> end_reason;
  std::optional<int64_t> base_step;  // Of the current attempt; absent until it has started.
  int64_t last_step = -1;            // Last stored step that counts.
  int32_t crashes = 0;
  absl::Time grant_time;

  // Last stored step of the current attempt: what its worker may drop from its spool.
  int64_t persisted_step() const { return base_step.has_value() ? last_step : -1; }
};

// What a study asks of its events.
struct StudyRules {
  int64_t metrics = 1;
  int64_t budget_steps = 1;
};

// What one attempt's events make of its trial. Only trials that change have one.
struct TrialMove {
  size_t event = 0;                  // Index into the batch.
  TrialSnapshot before;              // The write is void where the trial no longer stands so.
  std::optional<int64_t> base_step;  // Of the attempt, also where the trial comes back.
  int64_t last_step = -1;
  size_t first_new = 0;  // Points of the event from here on are to be stored.

  TrialState state = TrialState::kRunning;  // QUEUED: it comes back.
  std::optional<EndReason> end_reason;
  std::optional<int64_t> end_step;  // INFEASIBLE: first non-finite step.
  int32_t crashes = 0;
  std::string error;           // Empty: the trial's stays.
  std::string outcome;         // Of the attempt, as past_attempts tells it; empty while it runs.
  bool avoid = false;          // Not again to this session while another could take it.
  bool early_failure = false;  // The worker failed it before its first step.

  bool ends_attempt() const { return state != TrialState::kRunning; }
  bool ends_trial() const { return IsTerminal(state); }
};

struct FlushDecision {
  std::vector<Standing> standings;  // One per event, in order.
  std::vector<TrialMove> moves;     // By trial id.
};

// Only the current attempt of a RUNNING trial is written; any other event is answered, and dropped.
//   points at or before the last stored step are dropped: they are a re-send
//   points or an ending without a Start: the attempt started from scratch
//   an ending counts only once everything up to its last_step is stored; until then the answer is HELD
//   Complete   needs last_step = budget, else FAILED with that message
//   Diverged   INFEASIBLE
//   Failure    of the trial: one more crash, FAILED at the cap, else back to the queue, away from this session
//              of the worker: back to the queue, uncounted
//   Released   back to the queue, uncounted
// INVALID_ARGUMENT, which names trial and attempt, for what no worker of ours sends: values that are not metrics x
// steps, steps that do not rise, lie past the budget or at or past the first non-finite one, a start from anything but
// scratch, a stop by bounds that were never sent.
absl::StatusOr<FlushDecision> DecideFlush(absl::Span<const AttemptEvents> batch,
                                          const absl::flat_hash_map<int64_t, TrialSnapshot>& trials,
                                          absl::FunctionRef<StudyRules(int64_t study)> rules, const RetryCaps& caps);

// A locked strand.
struct StrandSnapshot {
  int64_t strand = 0;
  int64_t study = 0;
  bool may_grow = false;  // The study tops up, and its sweep is ACTIVE or PAUSED.
  int64_t wanted = 0;
  int64_t max_trials = 0;
  int64_t created = 0;
  int64_t sampler_size = 0;  // In trials.
  StateCounts counts;
};

// Where a strand stands once `left` of its running trials have moved, by the state they moved to: its counts, the new
// trials that replace INFEASIBLE ones among them.
struct StrandMove {
  StateCounts counts;
  int64_t top_up = 0;
};
StrandMove DecideStrand(const StrandSnapshot& strand, const StateCounts& left);

}  // namespace stepcurve
