// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/fleet/claim_loop.h"
#include "server/fleet/greeter.h"
#include "server/fleet/janitor.h"
#include "server/fleet/lease_loop.h"
#include "server/fleet/session_registry.h"
#include "server/fleet/worker_stream.h"
#include "server/ingest/ingest.h"
#include "server/store/claim_store.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/worker_service.grpc.pb.h"

namespace stepcurve {

// The workers of one server: their streams, sessions, claims and leases, and the way of their events into the database.
//
// Leases, claims and the rest come with stores of their own, on connections of their own, so that none starves another.
class Fleet final {
 public:
  // Not owned stores outlive the fleet.
  struct Options {
    SessionStore* leases = nullptr;          // For renewal alone.
    ClaimStore* claims = nullptr;            // For the claim loop alone.
    SessionStore* claim_sessions = nullptr;  // On the claim loop's connection.
    SessionStore* sessions = nullptr;        // For hellos and the janitor, as the next two.
    ClaimStore* held = nullptr;
    SweepStore* sweeps = nullptr;
    std::vector<FlushFn> flushers;
    std::string server_name;
    absl::Duration lease = absl::Seconds(60);
    absl::Duration heartbeat = absl::Seconds(15);
    absl::Duration claim_poll = absl::Milliseconds(250);
    EventQueue::Options queue;
    std::function<void(bool answers)> database = [](bool) {};  // Called by the janitor every period.
  };
  explicit Fleet(const Options& options);
  ~Fleet();

  // To be registered with a server that is shut down before the fleet is destroyed.
  grpc::Service* service() { return &service_; }

  // Hands out and greets no more, tells all workers to dial again, makes durable what they have sent as far as
  // `patience` allows, and closes their streams. Idempotent.
  void Drain(absl::Duration patience);

 private:
  class Service final : public v1::WorkerService::CallbackService {
   public:
    explicit Service(const WorkerStream::Callbacks* callbacks) : callbacks_(callbacks) {}
    grpc::ServerBidiReactor<v1::WorkerMessage, v1::ServerMessage>* Work(grpc::CallbackServerContext*) override {
      return WorkerStream::Start(callbacks_);
    }

   private:
    const WorkerStream::Callbacks* const callbacks_;
  };
  AfterCommit Consequences(SweepStore* sweeps);

  SessionRegistry registry_;
  ClaimLoop claim_loop_;
  Ingest ingest_;
  Greeter greeter_;
  LeaseLoop lease_loop_;
  Janitor janitor_;
  WorkerStream::Callbacks callbacks_;
  Service service_;
};

}  // namespace stepcurve
