// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/fleet/session_registry.h"
#include "server/fleet/worker_stream.h"
#include "server/ingest/ingest.h"
#include "server/store/claim_store.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"

namespace stepcurve {

// Answers hellos, and goodbyes: registers the session, settles what it holds, and welcomes its stream. A few threads of
// its own, since a stream's reactor must not wait for the database.
class Greeter final {
 public:
  // Not owned; all outlive the greeter.
  struct Options {
    SessionStore* sessions = nullptr;
    ClaimStore* claims = nullptr;
    SweepStore* sweeps = nullptr;
    SessionRegistry* registry = nullptr;
    Ingest* ingest = nullptr;
    std::function<void()> demand_rose;
    std::string server_name;
    absl::Duration lease = absl::Seconds(60);
    absl::Duration heartbeat = absl::Seconds(15);
    int threads = 2;
  };
  explicit Greeter(const Options& options);
  ~Greeter();

  // Does not block.
  void Greet(std::shared_ptr<WorkerStream> stream, v1::WorkerMessage hello);

  // A worker has left for good, holding nothing: its session ends now rather than with its lease. Does not block.
  void Dismiss(int64_t session);

  // Refuses what waits and what comes. Idempotent.
  void Stop();

 private:
  struct Visitor {
    std::shared_ptr<WorkerStream> stream;
    v1::WorkerMessage hello;
    int64_t leaving = 0;  // A session to end, and no stream.
  };
  void Run();
  void Answer(const Visitor& visitor);
  absl::StatusOr<HelloResult> SayHello(const HelloRequest& request);
  // What of the listed attempts goes on.
  absl::StatusOr<std::vector<GrantedTrial>> Held(int64_t session);
  absl::StatusOr<std::vector<int64_t>> SweepIds(const std::vector<std::string>& names);
  absl::StatusOr<std::shared_ptr<Session>> MakeSession(const HelloRequest& request, const HelloResult& hello);
  v1::Welcome WelcomeMessage() const;

  const Options options_;
  absl::Mutex mu_;
  std::deque<Visitor> waiting_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace stepcurve
