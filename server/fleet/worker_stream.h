// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/fleet/session.h"
#include "stepcurve/v1/worker_service.grpc.pb.h"

namespace stepcurve {

// One call of WorkerService.Work as a callback reactor: reads one message at a time and writes one at a time, and
// leaves what they mean to its session. Nothing in it blocks. Lives until the call is done and nobody holds it.
class WorkerStream final : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::ServerMessage>,
                           public SessionTransport,
                           public std::enable_shared_from_this<WorkerStream> {
 public:
  struct Callbacks {
    // The first message; answered by Welcome or Refuse, at some time, on any thread.
    std::function<void(std::shared_ptr<WorkerStream>, v1::WorkerMessage)> hello;
    // The worker has said that nothing more comes, and holds nothing.
    std::function<void(const Session&)> left;
    // The call is over.
    std::function<void(const Session&)> gone;
  };
  // `callbacks` is not owned and outlives the stream.
  static grpc::ServerBidiReactor<v1::WorkerMessage, v1::ServerMessage>* Start(const Callbacks* callbacks);

  void Welcome(std::shared_ptr<Session> session);
  // Ends the call; `last`, where given, is written first.
  void Refuse(const absl::Status& why);
  void Refuse(v1::ServerMessage last);
  // Whether there is nobody left to welcome.
  bool cancelled() const;

  // SessionTransport.
  void OutputReady() override;
  void ResumeReading() override;

  // ServerBidiReactor.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit WorkerStream(const Callbacks* callbacks) : callbacks_(callbacks) {}
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishOnce(const absl::Status& how) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Callbacks* const callbacks_;
  std::shared_ptr<WorkerStream> self_;  // Until OnDone.
  v1::WorkerMessage incoming_;          // Of the read in progress.

  mutable absl::Mutex mu_;
  std::shared_ptr<Session> session_ ABSL_GUARDED_BY(mu_);
  v1::ServerMessage outgoing_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> after_write_ ABSL_GUARDED_BY(mu_);  // How to finish once the write is done.
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  int pauses_ ABSL_GUARDED_BY(mu_) = 0;  // Begun less over; below 0 where the end overtook the beginning.
};

}  // namespace stepcurve
