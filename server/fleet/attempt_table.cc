// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/attempt_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "proto/support/status_macros.h"
#include "server/fleet/read_events.h"

namespace stepcurve {
namespace {

constexpr size_t kRememberedOver = 4096;

template <typename... Args>
absl::Status Impossible(int64_t trial, int64_t attempt, const absl::FormatSpec<Args...>& format, const Args&... args) {
  return absl::InvalidArgumentError(absl::StrFormat("trial %d attempt %d: ", trial, attempt) +
                                    absl::StrFormat(format, args...));
}

bool IsSpan(double seconds) { return std::isfinite(seconds) && seconds >= 0; }

}  // namespace

bool AttemptTable::Hold(const Grant& grant, const StudyDefinition& study) {
  const auto [known, is_new] = attempts_.try_emplace(Key(grant.trial, grant.attempt));
  if (!is_new) {
    return false;
  }
  known->second.sweep = grant.sweep;
  known->second.metrics = static_cast<int64_t>(study.metrics.size());
  known->second.budget_steps = study.budget_steps;
  known->second.persisted_step = grant.persisted_step;
  ++held_;
  return true;
}

void AttemptTable::Settle(const Standing& standing) {
  const Key key(standing.trial, standing.attempt);
  const auto known = attempts_.find(key);
  if (standing.verdict == Verdict::kHeld) {
    if (known != attempts_.end()) {
      known->second.persisted_step = std::max(known->second.persisted_step, standing.persisted_step);
    }
    return;
  }
  if (known != attempts_.end() && known->second.over.has_value()) {
    return;
  }
  if (known != attempts_.end()) {
    --held_;
  }
  attempts_[key].over = standing;
  over_.push_back(key);
  if (over_.size() > kRememberedOver) {
    attempts_.erase(over_.front());
    over_.pop_front();
  }
}

absl::StatusOr<const AttemptTable::Known*> AttemptTable::Find(int64_t trial, int64_t attempt) const {
  const auto known = attempts_.find(Key(trial, attempt));
  if (known == attempts_.end()) {
    return Impossible(trial, attempt, "neither assigned on this stream nor held in its hello");
  }
  return &known->second;
}

absl::Status AttemptTable::CheckReport(const v1::Report& report, const Known& known) const {
  const int64_t trial = report.trial();
  const int64_t attempt = report.attempt();
  const int points = report.step_deltas_size() + 1;
  if (points > kMostPointsPerReport) {
    return Impossible(trial, attempt, "a report of %d points; at most %d are allowed", points, kMostPointsPerReport);
  }
  if (report.values_size() != points * known.metrics) {
    return Impossible(trial, attempt, "a report of %d values; %d points of %d metrics are %d", report.values_size(),
                      points, known.metrics, points * known.metrics);
  }
  if (report.first_step() < 0 || report.first_step() > known.budget_steps) {
    return Impossible(trial, attempt, "a report of step %d; steps are 0 to %d", report.first_step(),
                      known.budget_steps);
  }
  int64_t step = report.first_step();
  for (const int64_t delta : report.step_deltas()) {
    if (delta < 1 || delta > known.budget_steps - step) {
      return Impossible(trial, attempt, "a report of %d steps after step %d; steps must rise and end at %d", delta,
                        step, known.budget_steps);
    }
    step += delta;
  }
  if (!IsSpan(report.train_seconds()) || !IsSpan(report.eval_seconds())) {
    return Impossible(trial, attempt, "train_seconds %g and eval_seconds %g; they must be finite and not negative",
                      report.train_seconds(), report.eval_seconds());
  }
  return absl::OkStatus();
}

absl::Status AttemptTable::CheckEnd(const v1::End& end, const Known& known) const {
  if (end.last_step() < -1 || end.last_step() > known.budget_steps) {
    return Impossible(end.trial(), end.attempt(), "an end with last_step %d; it must be -1 to %d", end.last_step(),
                      known.budget_steps);
  }
  if (end.outcome_case() == v1::End::OUTCOME_NOT_SET) {
    return Impossible(end.trial(), end.attempt(), "an end without an outcome that this server knows");
  }
  if (end.has_diverged() && (end.diverged().step() < 0 || end.diverged().step() > known.budget_steps)) {
    return Impossible(end.trial(), end.attempt(), "diverged at step %d; it must be 0 to %d", end.diverged().step(),
                      known.budget_steps);
  }
  if (end.log_tail().size() > kMostLogTailBytes) {
    return Impossible(end.trial(), end.attempt(), "a log_tail of %d bytes; at most %d are allowed",
                      end.log_tail().size(), kMostLogTailBytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<AttemptTable::Incoming> AttemptTable::Read(const v1::WorkerMessage& message) const {
  Incoming incoming;
  incoming.events.reserve(message.starts_size() + message.reports_size() + message.ends_size());
  std::set<Key> answered;
  // Nothing said of an attempt that is over matters any more.
  const auto over = [&](const Known& known) {
    if (!known.over.has_value()) {
      return false;
    }
    if (answered.insert(Key(known.over->trial, known.over->attempt)).second) {
      incoming.answers.push_back(*known.over);
    }
    return true;
  };
  for (const v1::Start& start : message.starts()) {
    STEPCURVE_ASSIGN_OR_RETURN(const Known* known, Find(start.trial(), start.attempt()));
    if (start.base_step() < -1 || start.base_step() > known->budget_steps) {
      return Impossible(start.trial(), start.attempt(), "a start with base_step %d; it must be -1 to %d",
                        start.base_step(), known->budget_steps);
    }
    if (!over(*known)) {
      incoming.events.push_back(ToEvents(start, session_));
    }
  }
  for (const v1::Report& report : message.reports()) {
    STEPCURVE_ASSIGN_OR_RETURN(const Known* known, Find(report.trial(), report.attempt()));
    if (!over(*known)) {
      STEPCURVE_RETURN_IF_ERROR(CheckReport(report, *known));
      incoming.events.push_back(ToEvents(report, session_));
    }
  }
  for (const v1::End& end : message.ends()) {
    STEPCURVE_ASSIGN_OR_RETURN(const Known* known, Find(end.trial(), end.attempt()));
    if (!over(*known)) {
      STEPCURVE_RETURN_IF_ERROR(CheckEnd(end, *known));
      incoming.events.push_back(ToEvents(end, session_));
    }
  }
  // A heartbeat changes nothing, but a worker that still trains what is over must hear of it.
  for (const v1::Heartbeat::Running& running : message.heartbeat().running()) {
    const auto known = attempts_.find(Key(running.trial(), running.attempt()));
    if (known != attempts_.end()) {
      over(known->second);
    } else if (answered.insert(Key(running.trial(), running.attempt())).second) {
      incoming.answers.push_back({.trial = running.trial(), .attempt = running.attempt(), .verdict = Verdict::kLost});
    }
  }
  return incoming;
}

std::vector<Standing> AttemptTable::EndedBySweep(int64_t sweep, TrialState state, const std::string& reason) const {
  std::vector<Standing> standings;
  for (const auto& [key, known] : attempts_) {
    if (known.sweep == sweep && !known.over.has_value()) {
      standings.push_back({.trial = key.first,
                           .attempt = key.second,
                           .persisted_step = known.persisted_step,
                           .verdict = Verdict::kEnded,
                           .state = state,
                           .reason = reason});
    }
  }
  return standings;
}

std::vector<int64_t> AttemptTable::Sweeps() const {
  std::set<int64_t> sweeps;
  for (const auto& [key, known] : attempts_) {
    if (!known.over.has_value()) {
      sweeps.insert(known.sweep);
    }
  }
  return {sweeps.begin(), sweeps.end()};
}

}  // namespace stepcurve
