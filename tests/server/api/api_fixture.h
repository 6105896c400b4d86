// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "server/api/curve_service.h"
#include "server/api/sweep_service.h"
#include "server/store/curve_store.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/curve_service.grpc.pb.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"
#include "tests/server/api/measured_sweeps.h"
#include "tests/support/postgres.h"

namespace stepcurve {

// The address of QuadraticStudy's workload.
inline constexpr char kQuadratic[] = "quadratic/noisy_quadratic_100/sgd";

// Both services behind a real gRPC server, on a schema of the test's own.
class ApiTest : public PostgresTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // A connected worker that can run every quadratic.
  void ConnectWorker(const std::string& name, int slots);

  // "CODE: message" of a call, "OK" if it was.
  static std::string Text(const grpc::Status& status);

  v1::GetCurveRequest CurveRequest(const std::string& goal = "val/loss < 0.1");
  static v1::Goal GoalOf(const std::string& text);

  std::unique_ptr<SweepStore> sweeps_;
  std::unique_ptr<TrialStore> trials_;
  std::unique_ptr<SessionStore> sessions_;
  std::unique_ptr<CurveStore> curves_;
  std::unique_ptr<MeasuredSweeps> data_;
  std::unique_ptr<SweepServiceImpl> sweep_service_;
  std::unique_ptr<CurveServiceImpl> curve_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::SweepService::Stub> sweep_stub_;
  std::unique_ptr<v1::CurveService::Stub> curve_stub_;
  int workers_ = 0;
};

// A spec that plans: two batch sizes of a small quadratic, `trials` points each.
v1::SweepSpec QuadraticSpec(const std::string& name, int64_t trials = 4);

}  // namespace stepcurve
