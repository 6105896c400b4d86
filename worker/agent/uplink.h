// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/support/clock.h"
#include "stepcurve/v1/worker_service.grpc.pb.h"
#include "worker/agent/agent.h"

namespace stepcurve {

// The agent's connection to a server: one stream after the other, with back-off and jitter between them.
class Uplink final {
 public:
  struct Options {
    std::string server;      // HOST:PORT.
    Agent* agent = nullptr;  // Not owned; outlives the uplink.
    // Gives up after so long without a server that answers.
    absl::Duration connect_timeout = absl::InfiniteDuration();
    absl::Duration first_backoff = absl::Milliseconds(200);
    absl::Duration max_backoff = absl::Seconds(10);
    const Clock* clock = Clock::System();  // Not owned.
  };

  explicit Uplink(const Options& options) : options_(options) {}

  // Serves the agent until it has finished (OK), or until Cancel (CANCELLED) or connect_timeout (UNAVAILABLE).
  absl::Status Run();
  // Breaks the stream and makes Run return soon. Any thread, any number of times.
  void Cancel();

 private:
  // One stream, from Hello to its end: OK where this side ended it. Sets `greeted` once the server has answered.
  absl::Status RunStream(v1::WorkerService::Stub& stub, bool& greeted);
  bool cancelled();

  const Options options_;
  absl::Mutex mu_;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;  // Of the stream that is open.
};

}  // namespace stepcurve
