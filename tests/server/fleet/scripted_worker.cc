// SPDX-License-Identifier: Apache-2.0
#include "tests/server/fleet/scripted_worker.h"

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/channel/dial.h"
#include "proto/channel/grpc_status.h"

namespace stepcurve {

ScriptedWorker::ScriptedWorker(int port)
    : stub_(v1::WorkerService::NewStub(Dial({.server = absl::StrCat("localhost:", port)}))),
      stream_(stub_->Work(&context_)),
      reader_([this] { Read(); }) {}

ScriptedWorker::~ScriptedWorker() {
  context_.TryCancel();
  reader_.join();
}

void ScriptedWorker::Read() {
  v1::ServerMessage message;
  while (stream_->Read(&message)) {
    absl::MutexLock lock(&mu_);
    messages_.push_back(message);
  }
  const absl::Status status = FromGrpc(stream_->Finish());
  absl::MutexLock lock(&mu_);
  end_ = status;
}

std::string ScriptedWorker::KeyOf(const std::string& name) {
  std::string bytes = name;
  bytes.resize(16, '\0');
  return absl::BytesToHexString(bytes);
}

v1::WorkerMessage ScriptedWorker::HelloMessage(const std::string& session, int slots) {
  v1::WorkerMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(1);
  hello.set_session(KeyOf(session));
  hello.set_worker_name(session);
  hello.set_build("test");
  v1::SlotClass& slot_class = *hello.add_slot_classes();
  slot_class.set_device("cpu");
  slot_class.set_devices(1);
  slot_class.set_threads(1);
  slot_class.set_slots(slots);
  hello.mutable_can_run()->add_datasets()->set_name("quadratic");
  hello.mutable_can_run()->add_models("noisy_quadratic");
  hello.mutable_can_run()->add_optimizers("sgd");
  return message;
}

bool ScriptedWorker::Hello(const std::string& session, const std::vector<v1::Assignment>& held) {
  v1::WorkerMessage message = HelloMessage(session);
  for (const v1::Assignment& assignment : held) {
    v1::Held& entry = *message.mutable_hello()->add_held();
    entry.set_trial(assignment.trial());
    entry.set_attempt(assignment.attempt());
    entry.set_first_spooled_step(-1);
  }
  return Send(message) && AwaitMessage([](const v1::ServerMessage& answer) { return answer.has_welcome(); });
}

bool ScriptedWorker::Demand(int64_t wanted_total) {
  v1::WorkerMessage message;
  message.add_demands()->set_wanted_total(wanted_total);
  return Send(message);
}

bool ScriptedWorker::Heartbeat() {
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  return Send(message);
}

bool ScriptedWorker::Report(const v1::Assignment& assignment, std::vector<int64_t> steps) {
  v1::WorkerMessage message;
  v1::Report& report = *message.add_reports();
  report.set_trial(assignment.trial());
  report.set_attempt(assignment.attempt());
  report.set_first_step(steps[0]);
  for (size_t i = 1; i < steps.size(); ++i) {
    report.add_step_deltas(steps[i] - steps[i - 1]);
  }
  const int metrics = study(assignment.study()).metrics_size();
  for (int metric = 0; metric < metrics; ++metric) {
    for (const int64_t step : steps) {
      report.add_values(1.0 / static_cast<double>(step + 1));
    }
  }
  return Send(message);
}

bool ScriptedWorker::Complete(const v1::Assignment& assignment) {
  v1::WorkerMessage message;
  v1::End& end = *message.add_ends();
  end.set_trial(assignment.trial());
  end.set_attempt(assignment.attempt());
  end.set_last_step(study(assignment.study()).budget_steps());
  end.mutable_complete();
  return Send(message);
}

std::vector<v1::Assignment> ScriptedWorker::AwaitAssignments(size_t count) {
  std::vector<v1::Assignment> assignments;
  AwaitMessage([&](const v1::ServerMessage& message) {
    assignments.insert(assignments.end(), message.assignments().begin(), message.assignments().end());
    return assignments.size() >= count;
  });
  return assignments;
}

std::optional<v1::Standing> ScriptedWorker::AwaitStanding(const v1::Assignment& assignment,
                                                          const std::function<bool(const v1::Standing&)>& fits) {
  std::optional<v1::Standing> found;
  AwaitMessage([&](const v1::ServerMessage& message) {
    for (const v1::Standing& standing : message.standings()) {
      if (standing.trial() == assignment.trial() && standing.attempt() == assignment.attempt() && fits(standing)) {
        found = standing;
        return true;
      }
    }
    return false;
  });
  return found;
}

std::optional<v1::Standing> ScriptedWorker::AwaitVerdict(const v1::Assignment& assignment,
                                                         v1::Standing::Verdict verdict) {
  return AwaitStanding(assignment, [&](const v1::Standing& standing) { return standing.verdict() == verdict; });
}

std::optional<v1::Standing> ScriptedWorker::AwaitPersisted(const v1::Assignment& assignment, int64_t step) {
  return AwaitStanding(assignment, [&](const v1::Standing& standing) { return standing.persisted_step() >= step; });
}

bool ScriptedWorker::AwaitMessage(const std::function<bool(const v1::ServerMessage&)>& fits) {
  absl::MutexLock lock(&mu_);
  size_t seen = 0;
  bool found = false;
  const auto done = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    while (!found && seen < messages_.size()) {
      found = fits(messages_[seen++]);
    }
    return found || end_.has_value();
  };
  mu_.AwaitWithTimeout(absl::Condition(&done), kGenerous);
  return found;
}

absl::Status ScriptedWorker::AwaitEnd() {
  absl::MutexLock lock(&mu_);
  const auto ended = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return end_.has_value(); };
  if (!mu_.AwaitWithTimeout(absl::Condition(&ended), kGenerous)) {
    return absl::DeadlineExceededError("the stream has not ended");
  }
  return *end_;
}

v1::Welcome ScriptedWorker::welcome() {
  absl::MutexLock lock(&mu_);
  return messages_.empty() ? v1::Welcome() : messages_[0].welcome();
}

v1::StudyDefinition ScriptedWorker::study(int64_t study) {
  absl::MutexLock lock(&mu_);
  for (const v1::ServerMessage& message : messages_) {
    for (const v1::StudyDefinition& definition : message.studies()) {
      if (definition.study() == study) {
        return definition;
      }
    }
  }
  return {};
}

bool ScriptedWorker::studies_came_first() {
  absl::MutexLock lock(&mu_);
  std::set<int64_t> studies;
  for (const v1::ServerMessage& message : messages_) {
    for (const v1::StudyDefinition& definition : message.studies()) {
      if (!studies.insert(definition.study()).second) {
        return false;
      }
    }
    for (const v1::Assignment& assignment : message.assignments()) {
      if (studies.count(assignment.study()) == 0) {
        return false;
      }
    }
  }
  return true;
}

size_t ScriptedWorker::assignments() {
  absl::MutexLock lock(&mu_);
  size_t count = 0;
  for (const v1::ServerMessage& message : messages_) {
    count += message.assignments_size();
  }
  return count;
}

}  // namespace stepcurve
