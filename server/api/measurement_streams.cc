// SPDX-License-Identifier: Apache-2.0
#include "server/api/measurement_streams.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "proto/channel/grpc_status.h"
#include "server/api/measurement_reader.h"

namespace stepcurve {

// One stream. Either one of our threads advances it, or gRPC writes its batch: never both, so nothing but the flag
// needs a lock.
class MeasurementStreams::Reactor final : public grpc::ServerWriteReactor<v1::StreamMeasurementsResponse> {
 public:
  Reactor(MeasurementStreams* streams, const v1::StreamMeasurementsRequest& request)
      : streams_(streams), request_(request) {
    streams_->Soon([this] { Advance(); });
  }

  void OnWriteDone(bool ok) override {
    if (!ok) cancelled_ = true;
    streams_->Soon([this] { Advance(); });
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  // Last use of `this`: StartWrite or Finish, after which gRPC may call back at once.
  void Advance() {
    if (cancelled_) {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the reader went away"));
      return;
    }
    absl::StatusOr<std::optional<v1::MeasurementBatch>> batch = Read();
    if (!batch.ok()) {
      Finish(ToGrpc(batch.status()));
    } else if (!batch->has_value()) {
      Finish(grpc::Status::OK);
    } else {
      *response_.mutable_batch() = **std::move(batch);
      StartWrite(&response_);
    }
  }

  absl::StatusOr<std::optional<v1::MeasurementBatch>> Read() {
    if (reader_ == nullptr) {
      absl::StatusOr<std::unique_ptr<MeasurementReader>> reader =
          MeasurementReader::Open(streams_->sweeps_, streams_->trials_, request_);
      if (!reader.ok()) return reader.status();
      reader_ = *std::move(reader);
    }
    return reader_->Next();
  }

  MeasurementStreams* const streams_;
  const v1::StreamMeasurementsRequest request_;
  std::unique_ptr<MeasurementReader> reader_;
  v1::StreamMeasurementsResponse response_;
  std::atomic<bool> cancelled_ = false;
};

MeasurementStreams::MeasurementStreams(SweepStore* sweeps, TrialStore* trials) : sweeps_(sweeps), trials_(trials) {
  constexpr int kThreads = 2;  // Each holds a database connection while it reads.
  for (int i = 0; i < kThreads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

MeasurementStreams::~MeasurementStreams() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

grpc::ServerWriteReactor<v1::StreamMeasurementsResponse>* MeasurementStreams::Stream(
    const v1::StreamMeasurementsRequest& request) {
  return new Reactor(this, request);  // Deletes itself in OnDone.
}

void MeasurementStreams::Soon(std::function<void()> work) {
  absl::MutexLock lock(&mu_);
  work_.push_back(std::move(work));
}

void MeasurementStreams::Run() {
  while (true) {
    std::function<void()> work;
    {
      const auto called = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !work_.empty(); };
      absl::MutexLock lock(&mu_);
      mu_.Await(absl::Condition(&called));
      if (work_.empty()) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
}

}  // namespace stepcurve
