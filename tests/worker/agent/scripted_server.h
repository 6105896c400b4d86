// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "stepcurve/v1/worker_service.grpc.pb.h"

namespace stepcurve {

// A WorkerService without a database: keeps what workers say, and says what the test tells it to. It grants and answers
// nothing by itself but a Welcome.
class ScriptedServer final : public v1::WorkerService::Service {
 public:
  // On `port`, or any free one.
  explicit ScriptedServer(int port = 0);
  ~ScriptedServer() override;

  int port() const { return port_; }
  std::string address() const;

  // Sends on the open stream.
  void Say(const v1::ServerMessage& message);
  // Breaks the open stream.
  void BreakStream();
  // Ends it in order, with `status`, when its worker next says something.
  void EndStream(const grpc::Status& status);
  // Waits until `holds` of all that was said so far; false after 20 seconds.
  bool WaitUntil(const std::function<bool()>& holds) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Of Welcome.
  void SetHeartbeat(absl::Duration interval);

  // Copies of what was said, over all streams.
  std::vector<v1::Hello> hellos();
  std::vector<v1::WorkerMessage> messages();
  std::vector<v1::End> ends();
  // Steps reported for a trial since the last Hello.
  std::vector<int64_t> steps(int64_t trial);
  int64_t wanted();  // Newest demand for class 0 since the last Hello.
  void ForgetMessages();

 private:
  grpc::Status Work(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<v1::ServerMessage, v1::WorkerMessage>* stream) override;

  absl::Mutex mu_;
  grpc::ServerReaderWriter<v1::ServerMessage, v1::WorkerMessage>* stream_ ABSL_GUARDED_BY(mu_) = nullptr;
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mu_);
  absl::Duration heartbeat_ ABSL_GUARDED_BY(mu_) = absl::Seconds(15);
  std::vector<v1::Hello> hellos_ ABSL_GUARDED_BY(mu_);
  std::vector<v1::WorkerMessage> messages_ ABSL_GUARDED_BY(mu_);
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Study 1: the quadratic with 100 coordinates and sgd, evaluated at every step; or another model for a trainer.
v1::StudyDefinition QuadraticStudy(int64_t budget_steps);
v1::StudyDefinition TrainerStudy(const std::string& model);

// Assigns trials of `study`, with that definition in front.
v1::ServerMessage Assign(const v1::StudyDefinition& study, const std::vector<int64_t>& trials);
v1::ServerMessage Standing(int64_t trial, v1::Standing::Verdict verdict, int64_t persisted_step);

}  // namespace stepcurve
