// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/core/events.h"
#include "server/ingest/event_listener.h"

namespace stepcurve {

// Measurements of one metric, each value its step.
inline AttemptEvents Points(int64_t trial, int64_t attempt, std::vector<int64_t> steps) {
  AttemptEvents events;
  events.trial = trial;
  events.attempt = attempt;
  events.steps = std::move(steps);
  events.values.assign(events.steps.begin(), events.steps.end());
  return events;
}

inline AttemptEvents Ended(int64_t trial, int64_t attempt, Ending ending) {
  AttemptEvents events;
  events.trial = trial;
  events.attempt = attempt;
  events.ending = std::move(ending);
  return events;
}

// Remembers what it was told. Thread-safe.
class RecordingListener final : public EventListener {
 public:
  void Answer(const std::vector<Standing>& standings) override {
    absl::MutexLock lock(&mu_);
    standings_.insert(standings_.end(), standings.begin(), standings.end());
  }
  void Reject(const absl::Status& why) override {
    absl::MutexLock lock(&mu_);
    rejections_.push_back(why);
  }
  void Resume() override {
    absl::MutexLock lock(&mu_);
    ++resumed_;
  }

  std::vector<Standing> standings() const {
    absl::MutexLock lock(&mu_);
    return standings_;
  }
  std::vector<absl::Status> rejections() const {
    absl::MutexLock lock(&mu_);
    return rejections_;
  }
  int resumed() const {
    absl::MutexLock lock(&mu_);
    return resumed_;
  }
  // False when that many answers and rejections have not come within a generous time.
  bool AwaitNews(size_t count) const {
    absl::MutexLock lock(&mu_);
    const auto enough = [&]()
                            ABSL_SHARED_LOCKS_REQUIRED(mu_) { return standings_.size() + rejections_.size() >= count; };
    return mu_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30));
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<Standing> standings_ ABSL_GUARDED_BY(mu_);
  std::vector<absl::Status> rejections_ ABSL_GUARDED_BY(mu_);
  int resumed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace stepcurve
