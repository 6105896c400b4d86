// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/uplink.h"

#include <grpcpp/client_context.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "proto/channel/dial.h"

namespace stepcurve {
namespace {

constexpr absl::Duration kLogAgain = absl::Minutes(1);
// A server gets so long to end a stream on which nothing more will be said.
constexpr absl::Duration kFarewell = absl::Seconds(1);

}  // namespace

absl::Status Uplink::Run() {
  options_.agent->WaitForTrainers();
  const auto stub = v1::WorkerService::NewStub(
      Dial({.server = options_.server, .max_reconnect_backoff = std::min(options_.max_backoff, absl::Seconds(2))}));
  absl::BitGen random;
  absl::Duration backoff = options_.first_backoff;
  absl::Time last_answer = options_.clock->Now();
  absl::Time last_logged = absl::InfinitePast();
  std::string logged;
  while (!cancelled()) {
    bool greeted = false;
    const absl::Status status = RunStream(*stub, greeted);
    if (options_.agent->finished()) return absl::OkStatus();
    if (cancelled()) break;
    const absl::Time now = options_.clock->Now();
    if (greeted) {
      last_answer = now;
      backoff = options_.first_backoff;
      logged.clear();
    } else if (now - last_answer >= options_.connect_timeout) {
      return absl::UnavailableError(
          absl::StrCat("gave up after ", absl::FormatDuration(options_.connect_timeout), ": ", status.message()));
    }
    if (absl::IsInvalidArgument(status)) options_.agent->AbandonSession(std::string(status.message()));
    if (!status.ok() && (status.message() != logged || now - last_logged >= kLogAgain)) {
      logged = std::string(status.message());
      spdlog::warn("{}; trying again", logged);
      last_logged = now;
    }
    if (!options_.agent->Pause(backoff * absl::Uniform(random, 0.5, 1.0))) return absl::OkStatus();
    backoff = std::min(2 * backoff, options_.max_backoff);
  }
  return absl::CancelledError("cancelled");
}

absl::Status Uplink::RunStream(v1::WorkerService::Stub& stub, bool& greeted) {
  grpc::ClientContext context;
  {
    absl::MutexLock lock(&mu_);
    if (cancelled_) return absl::CancelledError("cancelled");
    context_ = &context;
  }
  const v1::WorkerMessage hello = options_.agent->BeginStream();
  const auto stream = stub.Work(&context);
  absl::Notification reader_done;
  std::thread reader([&] {
    v1::ServerMessage message;
    while (stream->Read(&message)) {
      greeted = greeted || message.has_welcome();
      options_.agent->Handle(message);
    }
    reader_done.Notify();  // First, or the writer that StreamBroke() wakes takes the end for its own.
    options_.agent->StreamBroke();
  });
  bool writable = stream->Write(hello);
  while (writable) {
    const std::optional<v1::WorkerMessage> message = options_.agent->NextMessage();
    if (!message.has_value()) break;
    writable = stream->Write(*message);
  }
  const bool ended_here = writable && !reader_done.HasBeenNotified();
  if (ended_here && options_.agent->finished()) stream->WritesDone();
  // Where this side goes on, the old stream is gone before the next Hello, so that no server still takes it for this
  // session's. Where the server has ended it, a cancellation would take the place of its reason.
  const bool wait = !ended_here || options_.agent->finished();
  if (!wait || !reader_done.WaitForNotificationWithTimeout(kFarewell)) context.TryCancel();
  reader.join();
  const grpc::Status status = stream->Finish();
  absl::MutexLock lock(&mu_);
  context_ = nullptr;
  if (ended_here) return absl::OkStatus();
  return status.ok() ? absl::UnavailableError("the server has closed the stream") : FromGrpc(status, options_.server);
}

void Uplink::Cancel() {
  absl::MutexLock lock(&mu_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

bool Uplink::cancelled() {
  absl::MutexLock lock(&mu_);
  return cancelled_;
}

}  // namespace stepcurve
