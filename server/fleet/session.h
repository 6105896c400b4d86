// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/fleet/attempt_table.h"
#include "server/fleet/outbox.h"
#include "server/ingest/ingest.h"
#include "server/store/claim_store.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

// The wire below a session. Called with no lock held; must not block.
class SessionTransport {
 public:
  virtual ~SessionTransport() = default;
  // Session::Next has something.
  virtual void OutputReady() = 0;
  // Receive asked for a pause; it is over.
  virtual void ResumeReading() = 0;
};

// A trial granted to a session, with its study.
struct GrantedTrial {
  Grant grant;
  std::shared_ptr<const StudyDefinition> study;
};

// One stream of a worker after its hello, apart from gRPC: what it may speak of, what it wants, and what it is to be
// sent. Thread-safe.
class Session final : public EventListener, public std::enable_shared_from_this<Session> {
 public:
  struct Options {
    ClaimSession claim;
    v1::Welcome welcome;
    std::vector<Standing> standings;  // Of what the hello listed.
    std::vector<GrantedTrial> held;   // What of it goes on.
    std::function<void()> demand_rose;
    Outbox::Options outbox;
  };
  // `ingest` is not owned and outlives the session.
  static std::shared_ptr<Session> Create(const Options& options, Ingest* ingest);

  int64_t id() const { return claim_.session; }
  int64_t stream() const { return claim_.stream; }
  const ClaimSession& claim() const { return claim_; }

  // For the transport.
  void Attach(std::weak_ptr<SessionTransport> transport);
  enum class Reading { kGoOn, kPause };
  // INVALID_ARGUMENT: the stream is to end with it.
  absl::StatusOr<Reading> Receive(const v1::WorkerMessage& message);
  struct Output {
    std::optional<v1::ServerMessage> message;
    std::optional<absl::Status> end;  // The last of all: how the stream is to finish.
  };
  // What to write next; neither where there is nothing.
  Output Next();

  // For the claim loop: free slots per class, and what came of it.
  std::vector<ClaimDemand> Unmet();
  void Assign(const std::vector<GrantedTrial>& grants);

  // Whether the lease is to be renewed: the worker has said something since the last time it was asked, or cannot since
  // this server does not read.
  bool TakeTouched();
  void Touch();

  std::vector<int64_t> Sweeps();
  void EndSweep(int64_t sweep, TrialState state, const std::string& reason);

  // Whether some attempt is not over.
  bool holds_any();

  // No more work, let what runs finish.
  void DrainWorker();
  // This server goes away; reads no more.
  void Reconnect(absl::Duration after);
  // The session is over.
  void End(const std::string& reason);
  // The stream is over, after what waits has been written. The first call wins; false for later ones.
  bool Close(const absl::Status& how);

  // EventListener.
  void Answer(const std::vector<Standing>& standings) override;
  void Reject(const absl::Status& why) override;
  void Resume() override;

 private:
  explicit Session(const Options& options);
  void SendLocked(const Standing& standing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeDemands(const v1::WorkerMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CutIfNotReading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<SessionTransport> transport();
  void Notify();

  const ClaimSession claim_;
  const std::function<void()> demand_rose_;
  std::optional<Ingest::Inlet> inlet_;  // Set once by Create.

  absl::Mutex mu_;
  std::weak_ptr<SessionTransport> transport_ ABSL_GUARDED_BY(mu_);
  AttemptTable attempts_ ABSL_GUARDED_BY(mu_);
  Outbox outbox_ ABSL_GUARDED_BY(mu_);
  std::vector<int64_t> wanted_ ABSL_GUARDED_BY(mu_);  // Per slot class, since the hello.
  std::vector<int64_t> assigned_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_set<int64_t> studies_sent_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;  // This server is.
  bool touched_ ABSL_GUARDED_BY(mu_) = false;
  int pauses_ ABSL_GUARDED_BY(mu_) = 0;  // Asked for, less over; below 0 where the end overtook the beginning.
};

}  // namespace stepcurve
