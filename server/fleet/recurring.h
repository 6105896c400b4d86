// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace stepcurve {

// A thread that runs `body` again and again, first at once. `body` returns how long to wait before its next run, unless
// Wake comes first. Thread-safe.
class Recurring final {
 public:
  explicit Recurring(std::function<absl::Duration()> body);
  // Waits for a running body.
  ~Recurring();

  // Lets the next run start now; one that is running is followed by another.
  void Wake();
  // The same as destruction, early. Idempotent; one thread calls it.
  void Stop();

 private:
  void Run();

  const std::function<absl::Duration()> body_;
  absl::Mutex mu_;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace stepcurve
