// SPDX-License-Identifier: Apache-2.0
#include "server/api/watcher.h"

#include <utility>

#include "proto/channel/grpc_status.h"

namespace stepcurve {

std::shared_ptr<Watcher> Watcher::Open(std::string sweep) {
  std::shared_ptr<Watcher> watcher(new Watcher(std::move(sweep)));
  absl::MutexLock lock(&watcher->mu_);
  watcher->self_ = watcher;
  return watcher;
}

void Watcher::Offer(std::shared_ptr<const v1::WatchSweepResponse> snapshot, bool last) {
  Move move;
  {
    absl::MutexLock lock(&mu_);
    if (ending_.has_value()) return;
    waiting_ = std::move(snapshot);
    if (last) ending_ = grpc::Status::OK;
    move = NextMove();
  }
  Make(move);
}

void Watcher::Fail(const absl::Status& status) {
  Move move;
  {
    absl::MutexLock lock(&mu_);
    if (ending_.has_value()) return;
    ending_ = ToGrpc(status);
    move = NextMove();
  }
  Make(move);
}

bool Watcher::finished() {
  absl::MutexLock lock(&mu_);
  return finished_ || ending_.has_value();
}

void Watcher::OnWriteDone(bool ok) {
  Move move;
  {
    absl::MutexLock lock(&mu_);
    writing_ = nullptr;
    if (!ok) {
      waiting_ = nullptr;
      ending_ = grpc::Status(grpc::StatusCode::CANCELLED, "the watcher went away");
    }
    move = NextMove();
  }
  Make(move);
}

void Watcher::OnCancel() {
  Move move;
  {
    absl::MutexLock lock(&mu_);
    waiting_ = nullptr;
    ending_ = grpc::Status(grpc::StatusCode::CANCELLED, "the watcher went away");
    move = NextMove();
  }
  Make(move);
}

void Watcher::OnDone() {
  std::shared_ptr<Watcher> self;  // Dies after the lock is released.
  absl::MutexLock lock(&mu_);
  self = std::move(self_);
}

Watcher::Move Watcher::NextMove() {
  if (finished_ || writing_ != nullptr) return {};
  if (waiting_ != nullptr) {
    writing_ = std::exchange(waiting_, nullptr);
    return {.write = writing_.get()};
  }
  if (!ending_.has_value()) return {};
  finished_ = true;
  return {.finish = ending_};
}

void Watcher::Make(const Move& move) {
  if (move.write != nullptr) {
    StartWrite(move.write);
  } else if (move.finish.has_value()) {
    Finish(*move.finish);
  }
}

}  // namespace stepcurve
