// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/greeter.h"

#include <algorithm>
#include <utility>

#include "proto/support/status_macros.h"
#include "server/fleet/hello_message.h"
#include "server/fleet/to_proto.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

// The outcome of a commit can be unknown; a repeated hello finds the session again.
constexpr int kTries = 3;

absl::Status GoingAway() { return absl::UnavailableError("this server is going away"); }

}  // namespace

Greeter::Greeter(const Options& options) : options_(options) {
  for (int i = 0; i < options_.threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

Greeter::~Greeter() { Stop(); }

void Greeter::Greet(std::shared_ptr<WorkerStream> stream, v1::WorkerMessage hello) {
  {
    absl::MutexLock lock(&mu_);
    if (!stopping_) {
      waiting_.push_back({std::move(stream), std::move(hello)});
      return;
    }
  }
  stream->Refuse(GoingAway());
}

void Greeter::Dismiss(int64_t session) {
  absl::MutexLock lock(&mu_);
  if (!stopping_) {
    waiting_.push_back({.leaving = session});
  }
}

void Greeter::Stop() {
  std::deque<Visitor> refused;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    refused.swap(waiting_);
  }
  for (const Visitor& visitor : refused) {
    if (visitor.stream != nullptr) {
      visitor.stream->Refuse(GoingAway());
    }
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void Greeter::Run() {
  while (true) {
    Visitor visitor;
    {
      absl::MutexLock lock(&mu_);
      const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return stopping_ || !waiting_.empty(); };
      mu_.Await(absl::Condition(&ready));
      if (stopping_) {
        return;
      }
      visitor = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (visitor.stream == nullptr) {
      // Where this fails, the lease ends it.
      options_.sessions->End(visitor.leaving, "the worker left").IgnoreError();
    } else if (!visitor.stream->cancelled()) {
      // Greeting a stream that is gone would take the session from the one that came after it.
      Answer(visitor);
    }
  }
}

void Greeter::Answer(const Visitor& visitor) {
  const absl::StatusOr<HelloRequest> request = ReadHello(visitor.hello, options_.server_name);
  if (!request.ok()) {
    visitor.stream->Refuse(request.status());
    return;
  }
  const absl::StatusOr<HelloResult> hello = SayHello(*request);
  if (hello.status().code() == absl::StatusCode::kFailedPrecondition) {
    v1::ServerMessage ended;
    ended.mutable_session_ended()->set_reason(std::string(hello.status().message()));
    visitor.stream->Refuse(std::move(ended));
    return;
  }
  if (!hello.ok()) {
    visitor.stream->Refuse(hello.status());
    return;
  }
  const absl::StatusOr<std::shared_ptr<Session>> session = MakeSession(*request, *hello);
  if (!session.ok()) {
    visitor.stream->Refuse(session.status());
    return;
  }
  options_.registry->Add(*session);
  visitor.stream->Welcome(*session);
}

absl::StatusOr<std::shared_ptr<Session>> Greeter::MakeSession(const HelloRequest& request, const HelloResult& hello) {
  Session::Options options;
  options.claim.session = hello.session;
  options.claim.stream = hello.stream;
  options.claim.slot_classes = request.slot_classes;
  options.claim.can_run = request.can_run;
  options.claim.worker_name = request.worker_name;
  STEPCURVE_ASSIGN_OR_RETURN(options.claim.sweeps, SweepIds(request.sweeps));
  if (std::any_of(hello.standings.begin(), hello.standings.end(),
                  [](const Standing& standing) { return standing.verdict == Verdict::kHeld; })) {
    STEPCURVE_ASSIGN_OR_RETURN(options.held, Held(hello.session));
  }
  options.standings = hello.standings;
  options.demand_rose = options_.demand_rose;
  options.welcome = WelcomeMessage();
  spdlog::info("worker {}: session {}, stream {}, {} attempts held", request.worker_name, hello.session, hello.stream,
               options.held.size());
  return Session::Create(options, options_.ingest);
}

absl::StatusOr<std::vector<int64_t>> Greeter::SweepIds(const std::vector<std::string>& names) {
  std::vector<int64_t> ids;
  for (const std::string& name : names) {
    STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, options_.sweeps->Find(name));
    ids.push_back(sweep.id);
  }
  return ids;
}

absl::StatusOr<HelloResult> Greeter::SayHello(const HelloRequest& request) {
  absl::StatusOr<HelloResult> result = options_.sessions->Hello(request);
  for (int tries = 1; tries < kTries && result.status().code() == absl::StatusCode::kUnknown; ++tries) {
    result = options_.sessions->Hello(request);
  }
  return result;
}

absl::StatusOr<std::vector<GrantedTrial>> Greeter::Held(int64_t session) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<Grant> grants, options_.claims->HeldBy(session));
  std::vector<GrantedTrial> held;
  for (const Grant& grant : grants) {
    STEPCURVE_ASSIGN_OR_RETURN(std::shared_ptr<const StudyDefinition> study, options_.claims->Definition(grant.study));
    held.push_back({grant, std::move(study)});
  }
  return held;
}

v1::Welcome Greeter::WelcomeMessage() const {
  v1::Welcome welcome;
  welcome.set_protocol(kWorkerProtocol);
  *welcome.mutable_lease() = ToProto(options_.lease);
  *welcome.mutable_heartbeat_interval() = ToProto(options_.heartbeat);
  welcome.set_max_message_bytes(kMostWorkerMessageBytes);
  welcome.set_max_points_per_report(kMostPointsPerReport);
  return welcome;
}

}  // namespace stepcurve
