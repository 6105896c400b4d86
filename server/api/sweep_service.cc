// SPDX-License-Identifier: Apache-2.0
#include "server/api/sweep_service.h"

#include <utility>

#include "proto/channel/grpc_status.h"
#include "server/api/measurement_streams.h"
#include "server/api/registry_handlers.h"
#include "server/api/sweep_handlers.h"
#include "server/api/trial_handlers.h"
#include "server/api/watch_hub.h"

namespace stepcurve {
namespace {

template <typename Response>
grpc::Status Answer(absl::StatusOr<Response> result, Response* response) {
  if (!result.ok()) return ToGrpc(result.status());
  *response = *std::move(result);
  return grpc::Status::OK;
}

}  // namespace

SweepServiceImpl::SweepServiceImpl(const Options& options)
    : sweeps_(std::make_unique<SweepHandlers>(options.sweeps, options.sessions)),
      trials_(std::make_unique<TrialHandlers>(
          TrialHandlers::Options{.sweeps = options.sweeps, .trials = options.trials, .curves = options.curves})),
      registry_(std::make_unique<RegistryHandlers>(options.sweeps, options.sessions)),
      watch_(std::make_unique<WatchHub>(
          WatchHub::Options{.sweeps = options.sweeps, .sessions = options.sessions, .clock = options.clock})),
      measurements_(std::make_unique<MeasurementStreams>(options.sweeps, options.trials)) {}

SweepServiceImpl::~SweepServiceImpl() = default;

grpc::Status SweepServiceImpl::CreateSweep(grpc::ServerContext*, const v1::CreateSweepRequest* request,
                                           v1::CreateSweepResponse* response) {
  return Answer(sweeps_->CreateSweep(*request), response);
}

grpc::Status SweepServiceImpl::GetSweep(grpc::ServerContext*, const v1::GetSweepRequest* request,
                                        v1::GetSweepResponse* response) {
  return Answer(sweeps_->GetSweep(*request), response);
}

grpc::Status SweepServiceImpl::ListSweeps(grpc::ServerContext*, const v1::ListSweepsRequest* request,
                                          v1::ListSweepsResponse* response) {
  return Answer(sweeps_->ListSweeps(*request), response);
}

grpc::Status SweepServiceImpl::PauseSweep(grpc::ServerContext*, const v1::PauseSweepRequest* request,
                                          v1::PauseSweepResponse* response) {
  return Answer(sweeps_->PauseSweep(*request), response);
}

grpc::Status SweepServiceImpl::ResumeSweep(grpc::ServerContext*, const v1::ResumeSweepRequest* request,
                                           v1::ResumeSweepResponse* response) {
  return Answer(sweeps_->ResumeSweep(*request), response);
}

grpc::Status SweepServiceImpl::CancelSweep(grpc::ServerContext*, const v1::CancelSweepRequest* request,
                                           v1::CancelSweepResponse* response) {
  return Answer(sweeps_->CancelSweep(*request), response);
}

grpc::Status SweepServiceImpl::ListTrials(grpc::ServerContext*, const v1::ListTrialsRequest* request,
                                          v1::ListTrialsResponse* response) {
  return Answer(trials_->ListTrials(*request), response);
}

grpc::Status SweepServiceImpl::GetTrial(grpc::ServerContext*, const v1::GetTrialRequest* request,
                                        v1::GetTrialResponse* response) {
  return Answer(trials_->GetTrial(*request), response);
}

grpc::Status SweepServiceImpl::ListWorkloads(grpc::ServerContext*, const v1::ListWorkloadsRequest*,
                                             v1::ListWorkloadsResponse* response) {
  return Answer(registry_->ListWorkloads(), response);
}

grpc::Status SweepServiceImpl::ListWorkers(grpc::ServerContext*, const v1::ListWorkersRequest*,
                                           v1::ListWorkersResponse* response) {
  return Answer(registry_->ListWorkers(), response);
}

grpc::Status SweepServiceImpl::GetCatalogue(grpc::ServerContext*, const v1::GetCatalogueRequest*,
                                            v1::GetCatalogueResponse* response) {
  return Answer(registry_->GetCatalogue(), response);
}

grpc::ServerWriteReactor<v1::WatchSweepResponse>* SweepServiceImpl::WatchSweep(grpc::CallbackServerContext*,
                                                                               const v1::WatchSweepRequest* request) {
  return watch_->Watch(*request);
}

grpc::ServerWriteReactor<v1::StreamMeasurementsResponse>* SweepServiceImpl::StreamMeasurements(
    grpc::CallbackServerContext*, const v1::StreamMeasurementsRequest* request) {
  return measurements_->Stream(*request);
}

}  // namespace stepcurve
