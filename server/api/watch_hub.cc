// SPDX-License-Identifier: Apache-2.0
#include "server/api/watch_hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/api/request_checks.h"
#include "server/api/watcher.h"
#include "spdlog/spdlog.h"

namespace stepcurve {

WatchHub::WatchHub(const Options& options) : options_(options), thread_([this] { Run(); }) {}

WatchHub::~WatchHub() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

grpc::ServerWriteReactor<v1::WatchSweepResponse>* WatchHub::Watch(const v1::WatchSweepRequest& request) {
  std::shared_ptr<Watcher> watcher = Watcher::Open(request.sweep());
  if (const absl::Status status = CheckName("sweep", request.sweep()); !status.ok()) {
    watcher->Fail(status);
  } else {
    absl::MutexLock lock(&mu_);
    newcomers_.push_back(watcher);
  }
  return watcher.get();  // gRPC's, until OnDone.
}

void WatchHub::Run() {
  while (true) {
    std::vector<std::shared_ptr<Watcher>> newcomers;
    {
      const auto called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !newcomers_.empty(); };
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&called), rooms_.empty() ? absl::InfiniteDuration() : options_.interval / 4);
      if (stopping_) return;
      newcomers.swap(newcomers_);
    }
    away_ = absl::OkStatus();
    Admit(std::move(newcomers));
    const absl::Time now = options_.clock->Now();
    for (auto it = rooms_.begin(); it != rooms_.end();) {
      Serve(it->first, it->second, now);
      it = it->second.seats.empty() ? rooms_.erase(it) : std::next(it);
    }
  }
}

// The names and ids of watched sweeps are looked up once; a sweep never changes its id.
void WatchHub::Admit(std::vector<std::shared_ptr<Watcher>> newcomers) {
  for (std::shared_ptr<Watcher>& watcher : newcomers) {
    const absl::StatusOr<SweepRow> sweep =
        away_.ok() ? options_.sweeps->Find(watcher->sweep()) : absl::StatusOr<SweepRow>(away_);
    if (!sweep.ok()) {
      if (absl::IsUnavailable(sweep.status())) away_ = sweep.status();
      watcher->Fail(sweep.status());
      continue;
    }
    rooms_[sweep->id].seats.push_back({.watcher = std::move(watcher)});
  }
}

void WatchHub::Serve(int64_t sweep, Room& room, absl::Time now) {
  const auto gone = [](const Room::Seat& seat) { return seat.watcher->finished(); };
  room.seats.erase(std::remove_if(room.seats.begin(), room.seats.end(), gone), room.seats.end());
  if (room.seats.empty()) return;

  bool changed = false;
  if (away_.ok() && now - room.read_time >= options_.interval) {
    room.read_time = now;
    absl::StatusOr<v1::Progress> progress = ReadProgress(*options_.sweeps, *options_.sessions, sweep);
    if (progress.ok()) {
      room.unread = false;
      std::string content = progress->SerializeAsString();
      changed = content != room.content;
      room.content = std::move(content);
      room.rate.Stamp(now, *progress);
      auto response = std::make_shared<v1::WatchSweepResponse>();
      *response->mutable_progress() = *std::move(progress);
      room.last = std::move(response);
    } else if (progress.status().code() == absl::StatusCode::kNotFound) {
      for (Room::Seat& seat : room.seats) seat.watcher->Fail(progress.status());
      return;
    } else {
      // The watchers keep what they have; it is read again after the interval.
      if (absl::IsUnavailable(progress.status())) away_ = progress.status();
      if (!room.unread) spdlog::warn("watched sweep {} not read: {}", sweep, progress.status().ToString());
      room.unread = true;
    }
  }
  if (room.last == nullptr) return;
  const bool everyone = changed || now - room.send_time >= options_.keep_alive;
  if (everyone) room.send_time = now;
  const bool over = IsOver(room.last->progress());
  for (Room::Seat& seat : room.seats) {
    if (everyone || seat.fresh) {
      seat.watcher->Offer(room.last, over);
      seat.fresh = false;
    }
  }
}

}  // namespace stepcurve
