// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/ledger.h"

#include <algorithm>
#include <utility>

#include "worker/agent/assignment.h"

namespace stepcurve {
namespace {

// About what fits into one message with two metrics a point.
constexpr size_t kPointsOfAFullMessage = 8192;
// Assignments are never asked for while the logs hold more than this.
constexpr size_t kBacklogBytes = 32 << 20;
constexpr size_t kBytesPerAttempt = 1024;
// A waiting assignment that no slot will take soon goes back for others after so long.
constexpr absl::Duration kPatience = absl::Seconds(10);

size_t BytesOf(const AttemptLog& log) { return log.points() * log.point_bytes(); }

}  // namespace

Ledger::Ledger(const std::vector<int64_t>& slots) {
  for (const int64_t count : slots) {
    classes_.emplace_back(count);
  }
}

void Ledger::BeginStream() {
  due_.clear();
  due_since_ = absl::InfiniteFuture();
  for (auto& [key, attempt] : attempts_) {
    Change(attempt, [](AttemptLog& log) { log.Resend(); });
    attempt.due = false;
    attempt.end_sent = absl::InfiniteFuture();
    if (attempt.log.due()) MarkDue(key, attempt, absl::InfinitePast());
  }
  for (Class& slot_class : classes_) {
    slot_class.demand.Restart();
    slot_class.wanted_sent = 0;
  }
}

std::vector<v1::Held> Ledger::Held() const {
  std::vector<v1::Held> held;
  for (const auto& [key, attempt] : attempts_) {
    held.push_back(attempt.log.Held());
  }
  return held;
}

bool Ledger::Assign(int slot_class, Task task, absl::Time now) {
  const AttemptKey key{task.run.trial, task.run.attempt};
  classes_[static_cast<size_t>(slot_class)].demand.Assigned();
  const size_t metrics = task.run.metrics.size();
  Attempt attempt{.log = AttemptLog(key, metrics), .task = std::move(task), .slot_class = slot_class, .since = now};
  if (!attempts_.try_emplace(key, std::move(attempt)).second) return false;
  buffered_bytes_ += kBytesPerAttempt;
  classes_[static_cast<size_t>(slot_class)].waiting.push_back(key);
  return true;
}

void Ledger::Refuse(int slot_class, AttemptKey key, v1::End end, absl::Time now) {
  Task task;
  task.run.trial = key.trial;
  task.run.attempt = key.attempt;
  if (Assign(slot_class, std::move(task), now)) End(key, std::move(end), now);
}

bool Ledger::Apply(const v1::Standing& standing) {
  const AttemptKey key{standing.trial(), standing.attempt()};
  Attempt* attempt = Find(key);
  if (attempt == nullptr) return false;
  switch (standing.verdict()) {
    case v1::Standing::HELD:
      Change(*attempt, [&](AttemptLog& log) { log.Persisted(standing.persisted_step()); });
      return false;
    case v1::Standing::ENDED:
    case v1::Standing::LOST: {
      const bool running = attempt->running;
      Drop(key);
      return running;
    }
    default:
      return false;
  }
}

void Ledger::Clear() {
  attempts_.clear();
  due_.clear();
  due_since_ = absl::InfiniteFuture();
  due_points_ = 0;
  buffered_bytes_ = 0;
  for (Class& slot_class : classes_) {
    slot_class.waiting.clear();
    slot_class.running.clear();
  }
}

std::optional<Ledger::Task> Ledger::Begin(int slot_class, const std::function<bool(const TrialRun&)>& can_run,
                                          absl::Time now) {
  Class& from = classes_[static_cast<size_t>(slot_class)];
  for (auto waiting = from.waiting.begin(); waiting != from.waiting.end(); ++waiting) {
    const AttemptKey key = *waiting;
    Attempt& attempt = attempts_.at(key);
    if (!can_run(attempt.task.run)) continue;
    from.waiting.erase(waiting);
    from.running.insert(key);
    attempt.running = true;
    attempt.since = now;
    Change(attempt, [](AttemptLog& log) { log.AddStart(); });
    MarkDue(key, attempt, now);
    return std::move(attempt.task);
  }
  return std::nullopt;
}

bool Ledger::Measured(AttemptKey key, int64_t step, const std::vector<double>& values, double train_seconds,
                      double eval_seconds, absl::Time now) {
  Attempt* attempt = Find(key);
  if (attempt == nullptr || attempt->log.ended()) return false;
  if (!attempt->log.Takes(step, values)) {
    End(key, FailedEnd(v1::End::Failure::WORKER, "the runner reported measurements out of order or of another width"),
        now);
    return true;
  }
  const bool first = due_.empty();
  attempt->log.AddPoint(step, values, train_seconds, eval_seconds);
  ++due_points_;
  buffered_bytes_ += attempt->log.point_bytes();
  attempt->step = std::max(attempt->step, step);
  MarkDue(key, *attempt, now);
  return first || due_points_ == kPointsOfAFullMessage;
}

void Ledger::Progressed(AttemptKey key, int64_t step) {
  if (Attempt* attempt = Find(key)) attempt->step = std::max(attempt->step, step);
}

void Ledger::End(AttemptKey key, v1::End end, absl::Time now) {
  Attempt* attempt = Find(key);
  if (attempt == nullptr || attempt->log.ended()) return;
  Class& slot_class = ClassOf(*attempt);
  if (attempt->running) {
    attempt->running = false;
    slot_class.running.erase(key);
    slot_class.demand.Ran(now - attempt->since);
  } else {
    std::erase(slot_class.waiting, key);
  }
  Change(*attempt, [&end](AttemptLog& log) { log.AddEnd(std::move(end)); });
  MarkDue(key, *attempt, now);
}

void Ledger::EndWaiting(int slot_class, const std::function<bool(const TrialRun&)>& unwanted, const v1::End& end,
                        absl::Time now) {
  const std::deque<AttemptKey> waiting = classes_[static_cast<size_t>(slot_class)].waiting;
  for (const AttemptKey& key : waiting) {
    if (unwanted(attempts_.at(key).task.run)) End(key, end, now);
  }
}

void Ledger::EndAllWaiting(const v1::End& end, absl::Time now) {
  for (size_t i = 0; i < classes_.size(); ++i) {
    EndWaiting(
        static_cast<int>(i), [](const TrialRun&) { return true; }, end, now);
  }
}

void Ledger::ReleaseSurplus(absl::Time now) {
  for (Class& slot_class : classes_) {
    const int64_t ahead = slot_class.demand.Ahead(LongestRunning(slot_class, now));
    const int64_t idle = slot_class.slots - static_cast<int64_t>(slot_class.running.size());
    while (static_cast<int64_t>(slot_class.waiting.size()) > ahead + idle &&
           attempts_.at(slot_class.waiting.back()).since + kPatience < now) {
      End(slot_class.waiting.back(), ReleasedEnd(v1::End::Released::PREEMPTED), now);
    }
  }
}

absl::Time Ledger::SendTime(absl::Duration linger, absl::Time now) {
  if (due_points_ >= kPointsOfAFullMessage) return absl::InfinitePast();
  for (Class& slot_class : classes_) {
    const bool idle = static_cast<int64_t>(slot_class.running.size()) < slot_class.slots && slot_class.waiting.empty();
    if (idle && WantedTotal(slot_class, now) > slot_class.wanted_sent) return absl::InfinitePast();
  }
  return due_since_ + linger;
}

void Ledger::Fill(MessageRoom room, absl::Time now, v1::WorkerMessage& message) {
  // Round robin: one that still has something due goes to the end of the line.
  for (size_t left = due_.size(); left > 0; --left) {
    const AttemptKey key = due_.front();
    due_.pop_front();
    Attempt* attempt = Find(key);
    if (attempt == nullptr) continue;
    attempt->due = false;
    Change(*attempt, [&](AttemptLog& log) { log.Send(room, message); });
    if (attempt->log.end_sent()) attempt->end_sent = now;
    if (attempt->log.due()) {
      attempt->due = true;
      due_.push_back(key);
      break;  // The message is full.
    }
  }
  due_since_ = due_.empty() ? absl::InfiniteFuture() : absl::InfinitePast();
}

void Ledger::FillDemand(absl::Time now, v1::WorkerMessage& message) {
  for (size_t i = 0; i < classes_.size(); ++i) {
    const int64_t wanted = WantedTotal(classes_[i], now);
    if (wanted <= classes_[i].wanted_sent) continue;
    classes_[i].wanted_sent = wanted;
    v1::Demand& demand = *message.add_demands();
    demand.set_slot_class(static_cast<int32_t>(i));
    demand.set_wanted_total(wanted);
  }
}

void Ledger::FillHeartbeat(v1::WorkerMessage& message) const {
  v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  for (const Class& slot_class : classes_) {
    for (const AttemptKey& key : slot_class.running) {
      v1::Heartbeat::Running& running = *heartbeat.add_running();
      running.set_trial(key.trial);
      running.set_attempt(key.attempt);
      running.set_step(attempts_.at(key).step);
    }
  }
}

void Ledger::ResendUnanswered(absl::Time sent_before, absl::Time now) {
  for (auto& [key, attempt] : attempts_) {
    if (attempt.end_sent >= sent_before) continue;
    Change(attempt, [](AttemptLog& log) { log.Resend(); });
    attempt.end_sent = absl::InfiniteFuture();
    MarkDue(key, attempt, now);
  }
}

Ledger::Attempt* Ledger::Find(AttemptKey key) {
  const auto attempt = attempts_.find(key);
  return attempt == attempts_.end() ? nullptr : &attempt->second;
}

void Ledger::Change(Attempt& attempt, const std::function<void(AttemptLog&)>& change) {
  due_points_ -= attempt.log.due_points();
  buffered_bytes_ -= BytesOf(attempt.log);
  change(attempt.log);
  due_points_ += attempt.log.due_points();
  buffered_bytes_ += BytesOf(attempt.log);
}

void Ledger::MarkDue(AttemptKey key, Attempt& attempt, absl::Time now) {
  if (attempt.due) return;
  attempt.due = true;
  due_.push_back(key);
  due_since_ = std::min(due_since_, now);
}

void Ledger::Drop(AttemptKey key) {
  Attempt& attempt = attempts_.at(key);
  Class& slot_class = ClassOf(attempt);
  slot_class.running.erase(key);
  std::erase(slot_class.waiting, key);
  due_points_ -= attempt.log.due_points();
  buffered_bytes_ -= BytesOf(attempt.log) + kBytesPerAttempt;
  attempts_.erase(key);
}

absl::Duration Ledger::LongestRunning(const Class& slot_class, absl::Time now) const {
  absl::Duration longest = absl::ZeroDuration();
  for (const AttemptKey& key : slot_class.running) {
    longest = std::max(longest, now - attempts_.at(key).since);
  }
  return longest;
}

int64_t Ledger::WantedTotal(Class& slot_class, absl::Time now) {
  if (demand_closed_ || buffered_bytes_ > kBacklogBytes) return slot_class.wanted_sent;
  const auto held = static_cast<int64_t>(slot_class.running.size() + slot_class.waiting.size());
  return slot_class.demand.WantedTotal(held, LongestRunning(slot_class, now));
}

}  // namespace stepcurve
