// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "stepcurve/v1/worker_service.pb.h"
#include "worker/agent/attempt_log.h"
#include "worker/agent/demand.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// All attempts this worker holds, from their assignment until the server says that their end is durable or that they
// are no longer ours: what waits, what runs, what is to be sent, what to ask for. Decides only: no I/O, no clock; not
// thread-safe.
//
// An attempt is begun once: one that is assigned again while held is ignored, and one that was dropped is unknown, so
// that nothing more of it is taken.
class Ledger final {
 public:
  // A trial to run, and for how long its step may stand still (zero: for ever).
  struct Task {
    TrialRun run;
    absl::Duration patience;
  };

  // Slots of each slot class.
  explicit Ledger(const std::vector<int64_t>& slots);

  // --- A stream begins: everything that is not known to be durable is due again, demand starts from nothing.
  void BeginStream();
  std::vector<v1::Held> Held() const;

  // --- From the server.
  // False, changing nothing, where it is held already. `slot_class` must exist.
  bool Assign(int slot_class, Task task, absl::Time now);
  // An assignment that cannot be run: answered with `end`.
  void Refuse(int slot_class, AttemptKey key, v1::End end, absl::Time now);
  // Returns whether a running attempt was dropped and its run should stop. Unknown attempts are ignored.
  bool Apply(const v1::Standing& standing);
  // Drops everything.
  void Clear();

  // --- From the slots.
  // The first waiting attempt of the class that `can_run`; it runs from now on.
  std::optional<Task> Begin(int slot_class, const std::function<bool(const TrialRun&)>& can_run, absl::Time now);
  // Returns whether that may have brought SendTime forward.
  bool Measured(AttemptKey key, int64_t step, const std::vector<double>& values, double train_seconds,
                double eval_seconds, absl::Time now);
  void Progressed(AttemptKey key, int64_t step);
  void End(AttemptKey key, v1::End end, absl::Time now);
  // Ends with `end` what waits: for one class and unwanted, or all of it.
  void EndWaiting(int slot_class, const std::function<bool(const TrialRun&)>& unwanted, const v1::End& end,
                  absl::Time now);
  void EndAllWaiting(const v1::End& end, absl::Time now);
  // Releases what no slot will take soon: waiting long, and beyond what is held ahead.
  void ReleaseSurplus(absl::Time now);

  // --- To the server.
  // When the next message should go: at once where it would be full, or where a slot stands idle and may be given work;
  // else when the oldest event of it has waited for `linger`. InfiniteFuture where there is nothing to say.
  absl::Time SendTime(absl::Duration linger, absl::Time now);
  // Moves what is due into `message`.
  void Fill(MessageRoom room, absl::Time now, v1::WorkerMessage& message);
  // Demands that have risen since this stream began or since the last call.
  void FillDemand(absl::Time now, v1::WorkerMessage& message);
  // Every running attempt with its step.
  void FillHeartbeat(v1::WorkerMessage& message) const;
  // Makes ended attempts due again whose End went out before `sent_before` and is still unanswered.
  void ResendUnanswered(absl::Time sent_before, absl::Time now);
  // Asks for nothing from now on.
  void CloseDemand() { demand_closed_ = true; }

  bool empty() const { return attempts_.empty(); }
  size_t attempts() const { return attempts_.size(); }
  size_t due_points() const { return due_points_; }
  // What the logs hold in memory, roughly.
  size_t buffered_bytes() const { return buffered_bytes_; }

 private:
  struct Attempt {
    AttemptLog log;
    Task task;
    int slot_class = 0;
    bool running = false;
    bool due = false;  // Listed in due_.
    int64_t step = -1;
    absl::Time since;  // Since when it waits, or runs.
    absl::Time end_sent = absl::InfiniteFuture();
  };
  struct Class {
    explicit Class(int64_t slots) : slots(slots), demand(slots) {}
    int64_t slots;
    Demand demand;
    std::deque<AttemptKey> waiting;
    std::set<AttemptKey> running;
    int64_t wanted_sent = 0;
  };

  Attempt* Find(AttemptKey key);
  Class& ClassOf(const Attempt& attempt) { return classes_[static_cast<size_t>(attempt.slot_class)]; }
  // Makes the change to the attempt's log, and keeps the sums over all logs right.
  void Change(Attempt& attempt, const std::function<void(AttemptLog&)>& change);
  void MarkDue(AttemptKey key, Attempt& attempt, absl::Time now);
  void Drop(AttemptKey key);
  absl::Duration LongestRunning(const Class& slot_class, absl::Time now) const;
  int64_t WantedTotal(Class& slot_class, absl::Time now);

  std::map<AttemptKey, Attempt> attempts_;
  std::vector<Class> classes_;
  std::deque<AttemptKey> due_;  // Attempts with something to send; may name dropped ones.
  absl::Time due_since_ = absl::InfiniteFuture();
  size_t due_points_ = 0;
  size_t buffered_bytes_ = 0;
  bool demand_closed_ = false;
};

}  // namespace stepcurve
