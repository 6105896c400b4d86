// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"

#include "server/store/curve_store.h"
#include "stepcurve/v1/curve_service.grpc.pb.h"

namespace stepcurve {

// v1::CurveService. Synchronous. Thread-safe.
class CurveServiceImpl final : public v1::CurveService::Service {
 public:
  explicit CurveServiceImpl(CurveStore* curves);  // Not owned; outlives the service.

  grpc::Status GetCurve(grpc::ServerContext* context, const v1::GetCurveRequest* request,
                        v1::GetCurveResponse* response) override;

  // What GetCurve says, without the transport.
  absl::StatusOr<v1::GetCurveResponse> Answer(const v1::GetCurveRequest& request);

 private:
  CurveStore* curves_;
};

}  // namespace stepcurve
