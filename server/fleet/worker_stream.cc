// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/worker_stream.h"

#include <utility>

#include "proto/channel/grpc_status.h"
#include "spdlog/spdlog.h"

namespace stepcurve {

grpc::ServerBidiReactor<v1::WorkerMessage, v1::ServerMessage>* WorkerStream::Start(const Callbacks* callbacks) {
  std::shared_ptr<WorkerStream> stream(new WorkerStream(callbacks));
  stream->self_ = stream;
  stream->StartRead(&stream->incoming_);
  return stream.get();
}

void WorkerStream::Welcome(std::shared_ptr<Session> session) {
  session->Attach(weak_from_this());
  bool late = false;
  {
    absl::MutexLock lock(&mu_);
    late = finished_;
    if (!late) {
      session_ = session;
      Pump();
      StartRead(&incoming_);
    }
  }
  if (late) {
    session->Close(absl::CancelledError("the stream has ended"));
    callbacks_->gone(*session);
  }
}

void WorkerStream::Refuse(const absl::Status& why) {
  absl::MutexLock lock(&mu_);
  FinishOnce(why);
}

void WorkerStream::Refuse(v1::ServerMessage last) {
  absl::MutexLock lock(&mu_);
  if (finished_) {
    return;
  }
  outgoing_ = std::move(last);
  after_write_ = absl::OkStatus();
  writing_ = true;
  StartWrite(&outgoing_);
}

bool WorkerStream::cancelled() const {
  absl::MutexLock lock(&mu_);
  return cancelled_;
}

void WorkerStream::OutputReady() {
  absl::MutexLock lock(&mu_);
  Pump();
}

void WorkerStream::Pump() {
  if (session_ == nullptr || writing_ || finished_) {
    return;
  }
  Session::Output output = session_->Next();
  if (output.message.has_value()) {
    outgoing_ = *std::move(output.message);
    writing_ = true;
    StartWrite(&outgoing_);
  } else if (output.end.has_value()) {
    FinishOnce(*output.end);
  }
}

void WorkerStream::FinishOnce(const absl::Status& how) {
  if (!finished_) {
    finished_ = true;
    Finish(ToGrpc(how));
  }
}

void WorkerStream::ResumeReading() {
  absl::MutexLock lock(&mu_);
  if (--pauses_ == 0 && !finished_) {
    StartRead(&incoming_);
  }
}

void WorkerStream::OnReadDone(bool ok) {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    session = session_;
  }
  if (session == nullptr) {
    if (ok) {
      callbacks_->hello(shared_from_this(), std::move(incoming_));
      return;
    }
    absl::MutexLock lock(&mu_);
    FinishOnce(absl::OkStatus());
    return;
  }
  if (!ok) {
    // The worker has said all it had to say, or the stream broke.
    if (session->Close(absl::OkStatus()) && !cancelled() && !session->holds_any()) {
      callbacks_->left(*session);
    }
    return;
  }
  const absl::StatusOr<Session::Reading> reading = session->Receive(incoming_);
  if (!reading.ok()) {
    spdlog::warn("session {} ({}): the stream ends: {}", session->id(), session->claim().worker_name,
                 reading.status().ToString());
    session->Close(reading.status());
    return;
  }
  absl::MutexLock lock(&mu_);
  if (finished_) {
    return;
  }
  if (*reading == Session::Reading::kGoOn || ++pauses_ == 0) {
    StartRead(&incoming_);
  }
}

void WorkerStream::OnWriteDone(bool ok) {
  std::shared_ptr<Session> broken;
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (after_write_.has_value()) {
      FinishOnce(*after_write_);
    } else if (ok) {
      Pump();
    } else {
      broken = session_;
      FinishOnce(absl::CancelledError("the stream broke"));
    }
  }
  if (broken != nullptr) {
    broken->Close(absl::CancelledError("the stream broke"));
  }
}

void WorkerStream::OnCancel() {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    cancelled_ = true;
    session = session_;
    if (writing_) {
      after_write_ = absl::CancelledError("the worker cancelled the stream");
    } else {
      FinishOnce(absl::CancelledError("the worker cancelled the stream"));
    }
  }
  if (session != nullptr) {
    session->Close(absl::CancelledError("the worker cancelled the stream"));
  }
}

void WorkerStream::OnDone() {
  std::shared_ptr<Session> session;
  {
    absl::MutexLock lock(&mu_);
    finished_ = true;
    session = session_;
  }
  if (session != nullptr) {
    session->Close(absl::CancelledError("the stream has ended"));
    callbacks_->gone(*session);
  }
  const std::shared_ptr<WorkerStream> last = std::move(self_);
}

}  // namespace stepcurve
