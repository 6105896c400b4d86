// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "proto/support/clock.h"
#include "server/store/curve_store.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"

namespace stepcurve {

class MeasurementStreams;
class RegistryHandlers;
class SweepHandlers;
class TrialHandlers;
class WatchHub;

// v1::SweepService: unary calls are synchronous, since the work behind each blocks on the database; the two server
// streams are callback reactors, served by threads of this object. Each shell calls the handler of the same name, which
// tests call.
//
// Register it with a grpc::ServerBuilder; shut that server down before destroying this. Thread-safe.
class SweepServiceImpl final : public v1::SweepService::WithCallbackMethod_WatchSweep<
                                   v1::SweepService::WithCallbackMethod_StreamMeasurements<v1::SweepService::Service>> {
 public:
  // Not owned; all outlive the service.
  struct Options {
    SweepStore* sweeps = nullptr;
    TrialStore* trials = nullptr;
    SessionStore* sessions = nullptr;
    CurveStore* curves = nullptr;
    const Clock* clock = nullptr;
  };
  explicit SweepServiceImpl(const Options& options);
  ~SweepServiceImpl() override;

  grpc::Status CreateSweep(grpc::ServerContext* context, const v1::CreateSweepRequest* request,
                           v1::CreateSweepResponse* response) override;
  grpc::Status GetSweep(grpc::ServerContext* context, const v1::GetSweepRequest* request,
                        v1::GetSweepResponse* response) override;
  grpc::Status ListSweeps(grpc::ServerContext* context, const v1::ListSweepsRequest* request,
                          v1::ListSweepsResponse* response) override;
  grpc::Status PauseSweep(grpc::ServerContext* context, const v1::PauseSweepRequest* request,
                          v1::PauseSweepResponse* response) override;
  grpc::Status ResumeSweep(grpc::ServerContext* context, const v1::ResumeSweepRequest* request,
                           v1::ResumeSweepResponse* response) override;
  grpc::Status CancelSweep(grpc::ServerContext* context, const v1::CancelSweepRequest* request,
                           v1::CancelSweepResponse* response) override;
  grpc::Status ListTrials(grpc::ServerContext* context, const v1::ListTrialsRequest* request,
                          v1::ListTrialsResponse* response) override;
  grpc::Status GetTrial(grpc::ServerContext* context, const v1::GetTrialRequest* request,
                        v1::GetTrialResponse* response) override;
  grpc::Status ListWorkloads(grpc::ServerContext* context, const v1::ListWorkloadsRequest* request,
                             v1::ListWorkloadsResponse* response) override;
  grpc::Status ListWorkers(grpc::ServerContext* context, const v1::ListWorkersRequest* request,
                           v1::ListWorkersResponse* response) override;
  grpc::Status GetCatalogue(grpc::ServerContext* context, const v1::GetCatalogueRequest* request,
                            v1::GetCatalogueResponse* response) override;

  grpc::ServerWriteReactor<v1::WatchSweepResponse>* WatchSweep(grpc::CallbackServerContext* context,
                                                               const v1::WatchSweepRequest* request) override;
  grpc::ServerWriteReactor<v1::StreamMeasurementsResponse>* StreamMeasurements(
      grpc::CallbackServerContext* context, const v1::StreamMeasurementsRequest* request) override;

 private:
  std::unique_ptr<SweepHandlers> sweeps_;
  std::unique_ptr<TrialHandlers> trials_;
  std::unique_ptr<RegistryHandlers> registry_;
  std::unique_ptr<WatchHub> watch_;
  std::unique_ptr<MeasurementStreams> measurements_;
};

}  // namespace stepcurve
