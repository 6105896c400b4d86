// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "stepcurve/v1/worker_service.grpc.pb.h"

namespace stepcurve {

// Long enough for a loaded machine; a test that waits so long has failed.
inline constexpr absl::Duration kGenerous = absl::Seconds(30);

// One stream of a worker that a test drives by hand. What the server sends is collected by a thread. Every Await
// returns false when it has not come to pass within kGenerous.
class ScriptedWorker final {
 public:
  explicit ScriptedWorker(int port);
  // Cancels the stream.
  ~ScriptedWorker();

  // A session key made of a short name.
  static std::string KeyOf(const std::string& name);
  // One that every quadratic fits, with `slots` slots of one class.
  static v1::WorkerMessage HelloMessage(const std::string& session, int slots = 4);

  bool Send(const v1::WorkerMessage& message) { return stream_->Write(message); }
  // Hello and the wait for its welcome.
  bool Hello(const std::string& session, const std::vector<v1::Assignment>& held = {});
  bool Demand(int64_t wanted_total);
  bool Heartbeat();
  bool Report(const v1::Assignment& assignment, std::vector<int64_t> steps);
  bool Complete(const v1::Assignment& assignment);

  // Says that nothing more comes.
  void Leave() { stream_->WritesDone(); }

  // The first `count` assignments; fewer where they did not come.
  std::vector<v1::Assignment> AwaitAssignments(size_t count);
  // The first standing so far, or to come, that fits.
  std::optional<v1::Standing> AwaitStanding(const v1::Assignment& assignment,
                                            const std::function<bool(const v1::Standing&)>& fits);
  std::optional<v1::Standing> AwaitVerdict(const v1::Assignment& assignment, v1::Standing::Verdict verdict);
  std::optional<v1::Standing> AwaitPersisted(const v1::Assignment& assignment, int64_t step);
  bool AwaitMessage(const std::function<bool(const v1::ServerMessage&)>& fits);
  // How the server ended the stream; DEADLINE_EXCEEDED where it did not.
  absl::Status AwaitEnd();

  v1::Welcome welcome();
  v1::StudyDefinition study(int64_t study);
  // Whether each assignment so far came after its study.
  bool studies_came_first();
  size_t assignments();

 private:
  void Read();

  grpc::ClientContext context_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::ServerMessage>> stream_;
  absl::Mutex mu_;
  std::vector<v1::ServerMessage> messages_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);
  std::thread reader_;
};

}  // namespace stepcurve
