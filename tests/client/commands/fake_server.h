// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "stepcurve/v1/curve_service.grpc.pb.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"

namespace stepcurve {

// A server that answers by script over a real connection: what a test does not script is UNIMPLEMENTED.
class FakeServer final {
  template <typename Request, typename Response>
  using Unary = std::function<grpc::Status(const Request&, Response*)>;
  template <typename Request, typename Response>
  using Stream = std::function<grpc::Status(const Request&, grpc::ServerWriter<Response>*)>;

 public:
  // On a port of its own, or on the given one.
  explicit FakeServer(int port = 0) : sweeps_(this), curves_(this) {
    grpc::ServerBuilder builder;
    // A restarted server has to take its port again, and two may never share one.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&sweeps_);
    builder.RegisterService(&curves_);
    server_ = builder.BuildAndStart();
  }
  ~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  Unary<v1::CreateSweepRequest, v1::CreateSweepResponse> create_sweep;
  Unary<v1::GetSweepRequest, v1::GetSweepResponse> get_sweep;
  Unary<v1::ListSweepsRequest, v1::ListSweepsResponse> list_sweeps;
  Unary<v1::PauseSweepRequest, v1::PauseSweepResponse> pause_sweep;
  Unary<v1::ResumeSweepRequest, v1::ResumeSweepResponse> resume_sweep;
  Unary<v1::CancelSweepRequest, v1::CancelSweepResponse> cancel_sweep;
  Unary<v1::ListTrialsRequest, v1::ListTrialsResponse> list_trials;
  Unary<v1::GetTrialRequest, v1::GetTrialResponse> get_trial;
  Unary<v1::ListWorkloadsRequest, v1::ListWorkloadsResponse> list_workloads;
  Unary<v1::ListWorkersRequest, v1::ListWorkersResponse> list_workers;
  Unary<v1::GetCatalogueRequest, v1::GetCatalogueResponse> get_catalogue;
  Unary<v1::GetCurveRequest, v1::GetCurveResponse> get_curve;
  Stream<v1::WatchSweepRequest, v1::WatchSweepResponse> watch_sweep;
  Stream<v1::StreamMeasurementsRequest, v1::StreamMeasurementsResponse> stream_measurements;

 private:
  template <typename Script, typename Request, typename Output>
  static grpc::Status Answer(const Script& script, const Request* request, Output* output) {
    if (!script) return {grpc::StatusCode::UNIMPLEMENTED, "not scripted"};
    return script(*request, output);
  }

  struct Sweeps final : v1::SweepService::Service {
    explicit Sweeps(FakeServer* fake) : fake(fake) {}
#define STEPCURVE_FAKE_UNARY(Method, script)                                                                    \
  grpc::Status Method(grpc::ServerContext*, const v1::Method##Request* request, v1::Method##Response* response) \
      override {                                                                                                \
    return Answer(fake->script, request, response);                                                             \
  }
#define STEPCURVE_FAKE_STREAM(Method, script)                                      \
  grpc::Status Method(grpc::ServerContext*, const v1::Method##Request* request,    \
                      grpc::ServerWriter<v1::Method##Response>* writer) override { \
    return Answer(fake->script, request, writer);                                  \
  }
    STEPCURVE_FAKE_UNARY(CreateSweep, create_sweep)
    STEPCURVE_FAKE_UNARY(GetSweep, get_sweep)
    STEPCURVE_FAKE_UNARY(ListSweeps, list_sweeps)
    STEPCURVE_FAKE_UNARY(PauseSweep, pause_sweep)
    STEPCURVE_FAKE_UNARY(ResumeSweep, resume_sweep)
    STEPCURVE_FAKE_UNARY(CancelSweep, cancel_sweep)
    STEPCURVE_FAKE_UNARY(ListTrials, list_trials)
    STEPCURVE_FAKE_UNARY(GetTrial, get_trial)
    STEPCURVE_FAKE_UNARY(ListWorkloads, list_workloads)
    STEPCURVE_FAKE_UNARY(ListWorkers, list_workers)
    STEPCURVE_FAKE_UNARY(GetCatalogue, get_catalogue)
    STEPCURVE_FAKE_STREAM(WatchSweep, watch_sweep)
    STEPCURVE_FAKE_STREAM(StreamMeasurements, stream_measurements)
    FakeServer* const fake;
  };
  struct Curves final : v1::CurveService::Service {
    explicit Curves(FakeServer* fake) : fake(fake) {}
    STEPCURVE_FAKE_UNARY(GetCurve, get_curve)
    FakeServer* const fake;
  };
#undef STEPCURVE_FAKE_UNARY
#undef STEPCURVE_FAKE_STREAM

  Sweeps sweeps_;
  Curves curves_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace stepcurve
