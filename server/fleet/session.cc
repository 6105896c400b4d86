// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "proto/support/status_macros.h"
#include "server/fleet/to_proto.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

// A session cannot take the whole queue, whatever it asks for.
constexpr int64_t kMostHeld = 10'000;

}  // namespace

std::shared_ptr<Session> Session::Create(const Options& options, Ingest* ingest) {
  std::shared_ptr<Session> session(new Session(options));
  session->inlet_ = ingest->Open(session->id(), session);
  return session;
}

Session::Session(const Options& options)
    : claim_(options.claim),
      demand_rose_(options.demand_rose),
      attempts_(options.claim.session),
      outbox_(options.outbox),
      wanted_(options.claim.slot_classes.size(), 0),
      assigned_(options.claim.slot_classes.size(), 0) {
  absl::MutexLock lock(&mu_);
  v1::ServerMessage welcome;
  *welcome.mutable_welcome() = options.welcome;
  outbox_.Add(std::move(welcome));
  for (const GrantedTrial& held : options.held) {
    attempts_.Hold(held.grant, *held.study);
  }
  for (const Standing& standing : options.standings) {
    SendLocked(standing);
  }
}

void Session::Attach(std::weak_ptr<SessionTransport> transport) {
  absl::MutexLock lock(&mu_);
  transport_ = std::move(transport);
}

std::shared_ptr<SessionTransport> Session::transport() {
  absl::MutexLock lock(&mu_);
  return transport_.lock();
}

void Session::Notify() {
  if (const auto wire = transport()) {
    wire->OutputReady();
  }
}

void Session::SendLocked(const Standing& standing) {
  attempts_.Settle(standing);
  outbox_.Add(ToProto(standing));
}

absl::Status Session::TakeDemands(const v1::WorkerMessage& message) {
  for (const v1::Demand& demand : message.demands()) {
    const auto classes = static_cast<int64_t>(wanted_.size());
    if (demand.slot_class() < 0 || demand.slot_class() >= classes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("demand for slot class %d; the hello has classes 0 to %d", demand.slot_class(), classes - 1));
    }
    if (demand.wanted_total() < 0) {
      return absl::InvalidArgumentError(absl::StrFormat("demand of %d for slot class %d; it must not be negative",
                                                        demand.wanted_total(), demand.slot_class()));
    }
    int64_t& wanted = wanted_[demand.slot_class()];
    wanted = std::max(wanted, demand.wanted_total());
  }
  return absl::OkStatus();
}

absl::StatusOr<Session::Reading> Session::Receive(const v1::WorkerMessage& message) {
  if (message.has_hello()) {
    return absl::InvalidArgumentError("a second hello; a stream has one, as its first message");
  }
  if (message.ByteSizeLong() > kMostWorkerMessageBytes) {
    return absl::InvalidArgumentError(absl::StrFormat("a message of %d bytes; at most %d are allowed",
                                                      message.ByteSizeLong(), kMostWorkerMessageBytes));
  }
  AttemptTable::Incoming incoming;
  {
    absl::MutexLock lock(&mu_);
    if (leaving_ || end_.has_value()) {
      return Reading::kPause;
    }
    STEPCURVE_ASSIGN_OR_RETURN(incoming, attempts_.Read(message));
    STEPCURVE_RETURN_IF_ERROR(TakeDemands(message));
    touched_ = true;
    for (const Standing& standing : incoming.answers) {
      outbox_.Add(ToProto(standing));
    }
    CutIfNotReading();
  }
  if (message.demands_size() > 0) {
    demand_rose_();
  }
  if (!incoming.answers.empty()) {
    Notify();
  }
  if (incoming.events.empty() || inlet_->Push(std::move(incoming.events))) {
    return Reading::kGoOn;
  }
  absl::MutexLock lock(&mu_);
  ++pauses_;
  return Reading::kPause;
}

Session::Output Session::Next() {
  absl::MutexLock lock(&mu_);
  Output output;
  output.message = outbox_.Take();
  if (!output.message.has_value()) {
    output.end = end_;
  }
  return output;
}

std::vector<ClaimDemand> Session::Unmet() {
  absl::MutexLock lock(&mu_);
  std::vector<ClaimDemand> unmet;
  if (draining_ || leaving_ || end_.has_value()) {
    return unmet;
  }
  int64_t room = kMostHeld - attempts_.held();
  for (size_t slot_class = 0; slot_class < wanted_.size(); ++slot_class) {
    const int64_t count = std::min(room, wanted_[slot_class] - assigned_[slot_class]);
    if (count > 0) {
      unmet.push_back({.session = id(), .slot_class = static_cast<int32_t>(slot_class), .wanted = count});
      room -= count;
    }
  }
  return unmet;
}

void Session::Assign(const std::vector<GrantedTrial>& grants) {
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      return;  // The worker's next hello does not list them, or its lease ends: either way they come back.
    }
    for (const GrantedTrial& granted : grants) {
      const Grant& grant = granted.grant;
      if (!attempts_.Hold(grant, *granted.study)) {
        continue;
      }
      if (grant.slot_class >= 0 && static_cast<size_t>(grant.slot_class) < assigned_.size()) {
        ++assigned_[grant.slot_class];
      }
      if (studies_sent_.insert(grant.study).second) {
        outbox_.Add(StudyDefinitionToProto(*granted.study, {.study = grant.study, .sweep = grant.sweep}));
      }
      outbox_.Add(ToProto(grant));
    }
    CutIfNotReading();
  }
  Notify();
}

void Session::CutIfNotReading() {
  if (outbox_.over_limit() && !end_.has_value()) {
    end_ = absl::ResourceExhaustedError("the worker does not read what it is sent");
    outbox_ = Outbox({});
  }
}

bool Session::TakeTouched() {
  absl::MutexLock lock(&mu_);
  return std::exchange(touched_, false) || pauses_ > 0;
}

void Session::Touch() {
  absl::MutexLock lock(&mu_);
  touched_ = true;
}

std::vector<int64_t> Session::Sweeps() {
  absl::MutexLock lock(&mu_);
  return attempts_.Sweeps();
}

void Session::EndSweep(int64_t sweep, TrialState state, const std::string& reason) {
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      return;
    }
    for (const Standing& standing : attempts_.EndedBySweep(sweep, state, reason)) {
      SendLocked(standing);
    }
    CutIfNotReading();
  }
  Notify();
}

void Session::DrainWorker() {
  {
    absl::MutexLock lock(&mu_);
    if (draining_ || end_.has_value()) {
      return;
    }
    draining_ = true;
    v1::ServerMessage message;
    message.mutable_drain()->set_finish(true);
    outbox_.Add(std::move(message));
  }
  Notify();
}

void Session::Reconnect(absl::Duration after) {
  {
    absl::MutexLock lock(&mu_);
    if (leaving_ || end_.has_value()) {
      return;
    }
    leaving_ = true;
    v1::ServerMessage message;
    *message.mutable_reconnect()->mutable_after() = ToProto(after);
    outbox_.Add(std::move(message));
  }
  Notify();
}

void Session::End(const std::string& reason) {
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      return;
    }
    v1::ServerMessage message;
    message.mutable_session_ended()->set_reason(reason);
    outbox_.Add(std::move(message));
    end_ = absl::OkStatus();
  }
  Notify();
}

bool Session::Close(const absl::Status& how) {
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      return false;
    }
    end_ = how;
  }
  Notify();
  return true;
}

bool Session::holds_any() {
  absl::MutexLock lock(&mu_);
  return attempts_.held() > 0;
}

void Session::Answer(const std::vector<Standing>& standings) {
  {
    absl::MutexLock lock(&mu_);
    if (end_.has_value()) {
      return;
    }
    for (const Standing& standing : standings) {
      SendLocked(standing);
    }
    CutIfNotReading();
  }
  Notify();
}

void Session::Reject(const absl::Status& why) { Close(why); }

void Session::Resume() {
  std::shared_ptr<SessionTransport> wire;
  {
    absl::MutexLock lock(&mu_);
    --pauses_;
    wire = transport_.lock();
  }
  if (wire != nullptr) {
    wire->ResumeReading();
  }
}

}  // namespace stepcurve
