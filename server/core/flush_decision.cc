// SPDX-License-Identifier: Apache-2.0
#include "server/core/flush_decision.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/core/sweep_plan.h"

namespace stepcurve {
namespace {

absl::Status Refuse(const AttemptEvents& events, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("trial ", events.trial, ", attempt ", events.attempt, ": ", why));
}

// First non-finite step that the events report, if any.
std::optional<int64_t> DivergedAt(const AttemptEvents& events) {
  if (!events.ending.has_value()) {
    return std::nullopt;
  }
  const auto* diverged = std::get_if<Diverged>(&events.ending->outcome);
  return diverged == nullptr ? std::nullopt : std::optional(diverged->step);
}

absl::Status CheckForm(const AttemptEvents& events, const TrialSnapshot& trial, const StudyRules& rules) {
  const std::vector<int64_t>& steps = events.steps;
  if (events.base_step.value_or(-1) != -1) {
    return Refuse(events, absl::StrCat("it starts from step ", *events.base_step, "; it must start from scratch (-1)"));
  }
  if (events.values.size() != steps.size() * static_cast<size_t>(rules.metrics)) {
    return Refuse(events, absl::StrCat(events.values.size(), " values for ", steps.size(), " steps; the study has ",
                                       rules.metrics, " metrics"));
  }
  if (std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) != steps.end()) {
    return Refuse(events, "its steps do not rise");
  }
  if (!steps.empty() && (steps.front() < 0 || steps.back() > rules.budget_steps)) {
    return Refuse(events, absl::StrCat("steps ", steps.front(), " to ", steps.back(), "; they must be within 0 and ",
                                       rules.budget_steps, ", the budget"));
  }
  if (const std::optional<int64_t> diverged = DivergedAt(events)) {
    const int64_t last =
        std::max({events.ending->last_step, trial.persisted_step(), steps.empty() ? -1 : steps.back()});
    if (last >= *diverged || *diverged > rules.budget_steps) {
      return Refuse(events, absl::StrCat("its loss was not finite at step ", *diverged,
                                         ", which must lie past the last one reported (", last,
                                         ") and within the budget of ", rules.budget_steps));
    }
  }
  if (events.ending.has_value() && std::holds_alternative<AtBound>(events.ending->outcome)) {
    return Refuse(events, "it was stopped by a bound, but no bounds were sent");
  }
  return absl::OkStatus();
}

void End(TrialMove& move, TrialState state, EndReason reason, std::string outcome, std::string error = "") {
  move.state = state;
  move.end_reason = reason;
  move.outcome = std::move(outcome);
  move.error = std::move(error);
}

void Requeue(TrialMove& move, std::string outcome, std::string error = "") {
  move.state = TrialState::kQueued;
  move.outcome = std::move(outcome);
  move.error = std::move(error);
}

void Apply(const Failure& failure, const RetryCaps& caps, TrialMove& move) {
  if (failure.by_worker) {
    Requeue(move, "error", failure.message);
    move.early_failure = failure.before_first_step;
    return;
  }
  ++move.crashes;
  if (move.crashes >= caps.crashes) {
    End(move, TrialState::kFailed, EndReason::kError, "error", failure.message);
  } else {
    Requeue(move, "error", failure.message);
    move.avoid = true;
  }
}

void Apply(const Ending& ending, const StudyRules& rules, const RetryCaps& caps, TrialMove& move) {
  if (const auto* failure = std::get_if<Failure>(&ending.outcome)) {
    Apply(*failure, caps, move);
  } else if (const auto* diverged = std::get_if<Diverged>(&ending.outcome)) {
    End(move, TrialState::kInfeasible, EndReason::kDiverged, "diverged", diverged->reason);
    move.end_step = diverged->step;
  } else if (std::holds_alternative<Released>(ending.outcome)) {
    Requeue(move, "released");
  } else if (move.last_step == rules.budget_steps) {
    End(move, TrialState::kComplete, EndReason::kBudget, "complete");
  } else {
    End(move, TrialState::kFailed, EndReason::kError, "error",
        absl::StrCat("reported complete at step ", move.last_step, " of ", rules.budget_steps));
  }
}

// What the events of the current attempt of a running trial make of it.
TrialMove Move(const AttemptEvents& events, const TrialSnapshot& trial, const StudyRules& rules,
               const RetryCaps& caps) {
  TrialMove move;
  move.before = trial;
  move.base_step = trial.base_step;
  move.last_step = trial.last_step;
  move.crashes = trial.crashes;
  const bool trained =
      !events.steps.empty() || (events.ending.has_value() && !std::holds_alternative<Failure>(events.ending->outcome) &&
                                !std::holds_alternative<Released>(events.ending->outcome));
  if (!trial.base_step.has_value() && (events.base_step.has_value() || trained)) {
    move.base_step = -1;
    move.last_step = -1;  // From scratch: what earlier attempts stored no longer counts.
  }
  const auto first_new = std::upper_bound(events.steps.begin(), events.steps.end(), move.last_step);
  move.first_new = static_cast<size_t>(first_new - events.steps.begin());
  if (first_new != events.steps.end()) {
    move.last_step = events.steps.back();
  }
  const int64_t stored = move.base_step.has_value() ? move.last_step : -1;
  if (events.ending.has_value() && stored >= events.ending->last_step) {
    Apply(*events.ending, rules, caps, move);
  }
  return move;
}

bool Changes(const TrialMove& move) {
  return move.ends_attempt() || move.base_step != move.before.base_step || move.last_step != move.before.last_step;
}

Standing Answer(const AttemptEvents& events, int64_t persisted_step, Verdict verdict, TrialState state,
                std::string reason) {
  return {events.trial, events.attempt, persisted_step, verdict, state, std::move(reason)};
}

// For an attempt that cannot be written.
Standing AnswerStale(const AttemptEvents& events, const TrialSnapshot* trial) {
  if (trial == nullptr || trial->attempt != events.attempt || !IsTerminal(trial->state)) {
    return Answer(events, -1, Verdict::kLost, trial == nullptr ? TrialState::kQueued : trial->state,
                  "no longer this session's");
  }
  return Answer(events, trial->persisted_step(), Verdict::kEnded, trial->state,
                trial->end_reason.has_value() ? std::string(Name(*trial->end_reason)) : "");
}

Standing AnswerMove(const AttemptEvents& events, const TrialMove& move) {
  const int64_t persisted = move.base_step.has_value() ? move.last_step : -1;
  if (!move.ends_attempt()) {
    return Answer(events, persisted, Verdict::kHeld, TrialState::kRunning, "");
  }
  return Answer(events, persisted, Verdict::kEnded, move.state,
                move.end_reason.has_value() ? std::string(Name(*move.end_reason)) : move.outcome);
}

}  // namespace

absl::StatusOr<FlushDecision> DecideFlush(absl::Span<const AttemptEvents> batch,
                                          const absl::flat_hash_map<int64_t, TrialSnapshot>& trials,
                                          absl::FunctionRef<StudyRules(int64_t study)> rules, const RetryCaps& caps) {
  FlushDecision decision;
  decision.standings.reserve(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    const AttemptEvents& events = batch[i];
    const auto found = trials.find(events.trial);
    const TrialSnapshot* trial = found == trials.end() ? nullptr : &found->second;
    if (trial == nullptr || trial->attempt != events.attempt || trial->state != TrialState::kRunning) {
      decision.standings.push_back(AnswerStale(events, trial));
      continue;
    }
    const StudyRules study = rules(trial->study);
    STEPCURVE_RETURN_IF_ERROR(CheckForm(events, *trial, study));
    TrialMove move = Move(events, *trial, study, caps);
    move.event = i;
    decision.standings.push_back(AnswerMove(events, move));
    if (Changes(move)) {
      decision.moves.push_back(std::move(move));
    }
  }
  std::sort(decision.moves.begin(), decision.moves.end(),
            [](const TrialMove& a, const TrialMove& b) { return a.before.trial < b.before.trial; });
  return decision;
}

StrandMove DecideStrand(const StrandSnapshot& strand, const StateCounts& left) {
  StrandMove move;
  move.counts = strand.counts;
  move.counts[TrialState::kRunning] -= left.total();
  move.counts += left;
  if (strand.may_grow && left[TrialState::kInfeasible] > 0) {
    const StateCounts& counts = move.counts;
    move.top_up = TopUp({.wanted = strand.wanted,
                         .max_trials = strand.max_trials,
                         .created = strand.created,
                         .sampler_size = strand.sampler_size,
                         .complete = counts[TrialState::kComplete],
                         .stopped = counts[TrialState::kStopped],
                         .failed = counts[TrialState::kFailed],
                         .queued = counts[TrialState::kQueued],
                         .running = counts[TrialState::kRunning]});
    move.counts[TrialState::kQueued] += move.top_up;
  }
  return move;
}

}  // namespace stepcurve
