// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// One WatchSweep stream. Holds at most the newest snapshot that has not been sent: a slow reader skips, never queues.
// gRPC owns it until OnDone, the hub for as long as it serves it. Thread-safe.
class Watcher final : public grpc::ServerWriteReactor<v1::WatchSweepResponse> {
 public:
  static std::shared_ptr<Watcher> Open(std::string sweep);

  const std::string& sweep() const { return sweep_; }

  // Sends a snapshot, after what is being sent; `last` ends the stream after it. Nothing happens once the stream has
  // ended.
  void Offer(std::shared_ptr<const v1::WatchSweepResponse> snapshot, bool last);
  void Fail(const absl::Status& status);
  bool finished();

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit Watcher(std::string sweep) : sweep_(std::move(sweep)) {}

  // What to do next, decided under the lock and done outside it: gRPC may react in the same call.
  struct Move {
    const v1::WatchSweepResponse* write = nullptr;
    std::optional<grpc::Status> finish;
  };
  Move NextMove() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Make(const Move& move);

  const std::string sweep_;
  absl::Mutex mu_;
  std::shared_ptr<Watcher> self_ ABSL_GUARDED_BY(mu_);  // Until OnDone.
  std::shared_ptr<const v1::WatchSweepResponse> waiting_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const v1::WatchSweepResponse> writing_ ABSL_GUARDED_BY(mu_);
  std::optional<grpc::Status> ending_ ABSL_GUARDED_BY(mu_);  // To finish with, after what waits.
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace stepcurve
