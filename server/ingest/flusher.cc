// SPDX-License-Identifier: Apache-2.0
#include "server/ingest/flusher.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

// Whether what this event does can put a trial into the queue: a point that takes the place of one that diverged, or
// the trial itself.
bool MayQueueWork(const AttemptEvents& events) {
  return events.ending.has_value() && !std::holds_alternative<Complete>(events.ending->outcome);
}

}  // namespace

Flusher::Flusher(EventQueue* queue, FlushFn flush, AfterCommit after)
    : queue_(queue), flush_(std::move(flush)), after_(std::move(after)), thread_([this] { Run(); }) {}

Flusher::~Flusher() { Drain(absl::ZeroDuration()); }

void Flusher::Drain(absl::Duration patience) {
  if (!thread_.joinable()) {
    return;
  }
  queue_->Stop();
  {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&done_), patience);
    give_up_ = true;
    changed_.SignalAll();
  }
  queue_->Abandon();
  thread_.join();
}

void Flusher::Run() {
  for (std::vector<BatchEntry> batch = queue_->Take(); !batch.empty(); batch = queue_->Take()) {
    FlushOrSplit(absl::MakeSpan(batch));
    queue_->Release(batch);
  }
  absl::MutexLock lock(&mu_);
  done_ = true;
}

void Flusher::FlushOrSplit(absl::Span<BatchEntry> batch) {
  std::vector<AttemptEvents> events;
  events.reserve(batch.size());
  for (BatchEntry& entry : batch) {
    events.push_back(std::move(entry.events));
  }
  const absl::StatusOr<FlushStore::Result> result = FlushUntilTaken(events);
  if (result.ok()) {
    const bool may_queue_work = std::any_of(events.begin(), events.end(), MayQueueWork);
    Answer(batch, *result);
    if (!result->sweeps_to_check.empty()) {
      after_.check_sweeps(result->sweeps_to_check);
    }
    if (!result->drained_sessions.empty()) {
      after_.drain_sessions(result->drained_sessions);
    }
    if (may_queue_work) {
      after_.work_appeared();
    }
    return;
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i].events = std::move(events[i]);
  }
  if (result.status().code() == absl::StatusCode::kCancelled) {
    return;
  }
  if (batch.size() == 1) {
    Reject(batch[0], result.status());
    return;
  }
  FlushOrSplit(batch.first(batch.size() / 2));
  FlushOrSplit(batch.subspan(batch.size() / 2));
}

absl::StatusOr<FlushStore::Result> Flusher::FlushUntilTaken(const std::vector<AttemptEvents>& events) {
  for (int failures = 0;; ++failures) {
    absl::StatusOr<FlushStore::Result> result = flush_(events);
    if (result.ok() || Classify(result.status().code()) == FlushFailure::kSplit) {
      if (result.ok() && failures > 0) {
        spdlog::info("flush: the database took {} events after {} failures", events.size(), failures);
      }
      return result;
    }
    if (failures == 0 || failures % 60 == 0) {
      spdlog::warn("flush: {} events wait, the database did not take them: {}", events.size(),
                   result.status().ToString());
    }
    thread_local absl::BitGen random;
    if (!Pause(RetryDelay(failures) * absl::Uniform(random, 0.5, 1.0))) {
      return absl::CancelledError("the server is stopping");
    }
  }
}

void Flusher::Answer(absl::Span<const BatchEntry> batch, const FlushStore::Result& result) {
  absl::flat_hash_map<EventSource*, std::vector<Standing>> answers;
  for (size_t i = 0; i < batch.size(); ++i) {
    for (const auto& source : batch[i].sources) {
      answers[source.get()].push_back(result.standings[i]);
    }
  }
  for (const auto& [source, standings] : answers) {
    if (const auto listener = source->listener.lock()) {
      listener->Answer(standings);
    }
  }
}

void Flusher::Reject(const BatchEntry& entry, const absl::Status& why) {
  const std::string text = absl::StrCat("trial ", entry.events.trial, " attempt ", entry.events.attempt,
                                        ": refused: ", why.message());
  spdlog::error("flush: {}", text);
  for (const auto& source : entry.sources) {
    queue_->Reject(source);
    if (const auto listener = source->listener.lock()) {
      listener->Reject(absl::Status(
          why.code() == absl::StatusCode::kInternal ? absl::StatusCode::kInternal : absl::StatusCode::kInvalidArgument,
          text));
    }
  }
}

bool Flusher::Pause(absl::Duration delay) {
  absl::MutexLock lock(&mu_);
  if (!give_up_) {
    changed_.WaitWithTimeout(&mu_, delay);
  }
  return !give_up_;
}

}  // namespace stepcurve
