// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/environment.h"
#include "client/render/rows.h"
#include "proto/channel/dial.h"
#include "stepcurve/v1/curve_service.grpc.pb.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"

namespace stepcurve {

// One run of the program: its surroundings, its global options and the server. Dials with the first call.
class Session final {
 public:
  struct Options {
    std::string server;
    std::optional<Format> format;  // As asked for.
  };
  Session(const Environment& environment, Options options) : environment_(environment), options_(std::move(options)) {}

  const Environment& environment() const { return environment_; }
  std::ostream& out() const { return *environment_.out; }
  std::ostream& err() const { return *environment_.err; }
  Format format(Format otherwise = Format::kTable) const { return options_.format.value_or(otherwise); }
  absl::Time Now() const { return environment_.clock->Now(); }
  const std::string& server() const { return options_.server; }

  v1::SweepService::StubInterface& sweeps();
  v1::CurveService::StubInterface& curves();

  // Makes a unary call once; it fails with DEADLINE_EXCEEDED after `timeout`. Where nobody answers, the UNAVAILABLE
  // says so in words.
  template <typename Service, typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (Service::*method)(grpc::ClientContext*, const Request&, Response*),
                                const Request& request, absl::Duration timeout = absl::Seconds(60)) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    Response response;
    const grpc::Status status = (Stub(static_cast<Service*>(nullptr)).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpc(status, server());
    return response;
  }

 private:
  v1::SweepService::StubInterface& Stub(v1::SweepService::StubInterface*) { return sweeps(); }
  v1::CurveService::StubInterface& Stub(v1::CurveService::StubInterface*) { return curves(); }
  const std::shared_ptr<grpc::Channel>& channel();

  const Environment environment_;
  const Options options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SweepService::StubInterface> sweeps_;
  std::unique_ptr<v1::CurveService::StubInterface> curves_;
};

}  // namespace stepcurve
