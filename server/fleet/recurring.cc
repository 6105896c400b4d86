// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/recurring.h"

#include <utility>

namespace stepcurve {

Recurring::Recurring(std::function<absl::Duration()> body) : body_(std::move(body)), thread_([this] { Run(); }) {}

Recurring::~Recurring() { Stop(); }

void Recurring::Wake() {
  absl::MutexLock lock(&mu_);
  woken_ = true;
}

void Recurring::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Recurring::Run() {
  while (true) {
    const absl::Duration wait = body_();
    absl::MutexLock lock(&mu_);
    const auto due = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return woken_ || stopping_; };
    mu_.AwaitWithTimeout(absl::Condition(&due), wait);
    if (stopping_) {
      return;
    }
    woken_ = false;
  }
}

}  // namespace stepcurve
