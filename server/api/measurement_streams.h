// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// Serves all StreamMeasurements streams of a server by a few threads: gRPC's own must not wait for the database. A
// stream is read on only when its last batch has been sent, so a slow reader holds neither memory nor a transaction.
// Thread-safe.
class MeasurementStreams final {
 public:
  // Not owned; both outlive the streams.
  MeasurementStreams(SweepStore* sweeps, TrialStore* trials);
  ~MeasurementStreams();  // Once no stream is left: after the gRPC server is shut down.

  grpc::ServerWriteReactor<v1::StreamMeasurementsResponse>* Stream(const v1::StreamMeasurementsRequest& request);

 private:
  class Reactor;
  void Soon(std::function<void()> work);
  void Run();

  SweepStore* const sweeps_;
  TrialStore* const trials_;
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mu_);
  std::vector<std::thread> threads_;
};

}  // namespace stepcurve
