// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/agent/scripted_server.h"

#include <grpcpp/server_builder.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace stepcurve {

ScriptedServer::ScriptedServer(int port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

ScriptedServer::~ScriptedServer() {
  BreakStream();
  server_->Shutdown();
}

std::string ScriptedServer::address() const { return absl::StrCat("127.0.0.1:", port_); }

void ScriptedServer::Say(const v1::ServerMessage& message) {
  absl::MutexLock lock(&mu_);
  if (stream_ != nullptr) stream_->Write(message);
}

void ScriptedServer::BreakStream() {
  absl::MutexLock lock(&mu_);
  if (context_ != nullptr) context_->TryCancel();
}

void ScriptedServer::EndStream(const grpc::Status& status) {
  absl::MutexLock lock(&mu_);
  end_ = status;
}

bool ScriptedServer::WaitUntil(const std::function<bool()>& holds) {
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  // `holds` asks this server, which takes the lock: so it is asked outside of it, once per message.
  size_t seen = 0;
  while (!holds()) {
    absl::MutexLock lock(&mu_);
    const auto more = [this, &seen]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return messages_.size() + hellos_.size() != seen; };
    // Looks again now and then, as what is waited for need not come with a message.
    if (!mu_.AwaitWithTimeout(absl::Condition(&more), absl::Milliseconds(20)) && absl::Now() > deadline) return false;
    seen = messages_.size() + hellos_.size();
  }
  return true;
}

void ScriptedServer::SetHeartbeat(absl::Duration interval) {
  absl::MutexLock lock(&mu_);
  heartbeat_ = interval;
}

std::vector<v1::Hello> ScriptedServer::hellos() {
  absl::MutexLock lock(&mu_);
  return hellos_;
}

std::vector<v1::WorkerMessage> ScriptedServer::messages() {
  absl::MutexLock lock(&mu_);
  return messages_;
}

std::vector<v1::End> ScriptedServer::ends() {
  std::vector<v1::End> ends;
  for (const v1::WorkerMessage& message : messages()) {
    ends.insert(ends.end(), message.ends().begin(), message.ends().end());
  }
  return ends;
}

std::vector<int64_t> ScriptedServer::steps(int64_t trial) {
  std::vector<int64_t> steps;
  for (const v1::WorkerMessage& message : messages()) {
    for (const v1::Report& report : message.reports()) {
      if (report.trial() != trial) continue;
      int64_t step = report.first_step();
      steps.push_back(step);
      for (const int64_t delta : report.step_deltas()) {
        steps.push_back(step += delta);
      }
    }
  }
  return steps;
}

int64_t ScriptedServer::wanted() {
  int64_t wanted = -1;
  for (const v1::WorkerMessage& message : messages()) {
    for (const v1::Demand& demand : message.demands()) {
      wanted = demand.wanted_total();
    }
  }
  return wanted;
}

void ScriptedServer::ForgetMessages() {
  absl::MutexLock lock(&mu_);
  messages_.clear();
}

grpc::Status ScriptedServer::Work(grpc::ServerContext* context,
                                  grpc::ServerReaderWriter<v1::ServerMessage, v1::WorkerMessage>* stream) {
  v1::WorkerMessage message;
  if (!stream->Read(&message)) return grpc::Status::OK;
  {
    absl::MutexLock lock(&mu_);
    messages_.clear();
    hellos_.push_back(message.hello());
    stream_ = stream;
    context_ = context;
    v1::ServerMessage welcome;
    welcome.mutable_welcome()->set_protocol(1);
    google::protobuf::Duration& heartbeat = *welcome.mutable_welcome()->mutable_heartbeat_interval();
    heartbeat.set_seconds(absl::ToInt64Seconds(heartbeat_));
    heartbeat.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(heartbeat_ % absl::Seconds(1))));
    stream->Write(welcome);
  }
  while (stream->Read(&message)) {
    absl::MutexLock lock(&mu_);
    messages_.push_back(message);
    if (end_.has_value()) break;
  }
  absl::MutexLock lock(&mu_);
  if (stream_ == stream) {
    stream_ = nullptr;
    context_ = nullptr;
  }
  return std::exchange(end_, std::nullopt).value_or(grpc::Status::OK);
}

v1::StudyDefinition QuadraticStudy(int64_t budget_steps) {
  v1::StudyDefinition study;
  study.set_study(1);
  study.mutable_workload()->set_dataset("quadratic");
  study.mutable_workload()->set_model("noisy_quadratic_100");
  study.mutable_workload()->set_optimizer("sgd");
  study.set_batch_size(1024);
  study.set_budget_steps(budget_steps);
  study.mutable_grid()->set_every(1);
  study.add_metrics("train/loss");
  study.add_metrics("val/loss");
  study.add_parameters("learning_rate");
  study.set_schedule("constant");
  study.set_precision("float32");
  return study;
}

v1::StudyDefinition TrainerStudy(const std::string& model) {
  v1::StudyDefinition study = QuadraticStudy(10);
  study.set_study(2);
  study.mutable_workload()->set_dataset("fake");
  study.mutable_workload()->set_model(model);
  return study;
}

v1::ServerMessage Assign(const v1::StudyDefinition& study, const std::vector<int64_t>& trials) {
  v1::ServerMessage message;
  *message.add_studies() = study;
  for (const int64_t trial : trials) {
    v1::Assignment& assignment = *message.add_assignments();
    assignment.set_trial(trial);
    assignment.set_attempt(1);
    assignment.set_study(study.study());
    assignment.add_parameters(0.5);
    assignment.set_persisted_step(-1);
  }
  return message;
}

v1::ServerMessage Standing(int64_t trial, v1::Standing::Verdict verdict, int64_t persisted_step) {
  v1::ServerMessage message;
  v1::Standing& standing = *message.add_standings();
  standing.set_trial(trial);
  standing.set_attempt(1);
  standing.set_verdict(verdict);
  standing.set_persisted_step(persisted_step);
  return message;
}

}  // namespace stepcurve
