// SPDX-License-Identifier: Apache-2.0
#include "tests/server/fleet/server_fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "proto/channel/dial.h"
#include "proto/channel/grpc_status.h"

namespace stepcurve {
namespace {

v1::SweepSpec Quadratic(const std::string& name, int64_t trials) {
  v1::SweepSpec spec;
  spec.set_name(name);
  v1::WorkloadSpec& workload = *spec.add_workloads();
  workload.add_dataset("quadratic");
  workload.add_model("noisy_quadratic_100");
  workload.add_optimizer("sgd");
  spec.mutable_batch_sizes()->add_sizes(4);
  spec.mutable_search()->set_trials(trials);
  v1::SpaceEntry& rate = *spec.mutable_search()->add_space();
  rate.set_name("learning_rate");
  rate.mutable_range()->set_min(0.01);
  rate.mutable_range()->set_max(1);
  rate.mutable_range()->set_scale("log");
  spec.mutable_budget()->set_steps(100);
  return spec;
}

}  // namespace

void ServerTest::SetUp() {
  PostgresTest::SetUp();
  if (HasFatalFailure()) {
    return;
  }
  server_options_.database = options_;
  server_options_.lease = absl::Seconds(3);
  server_options_.heartbeat = absl::Seconds(1);
  server_options_.claim_poll = absl::Milliseconds(50);
  server_ = StartServer();
}

void ServerTest::TearDown() {
  server_.reset();
  PostgresTest::TearDown();
}

std::unique_ptr<StepcurveServer> ServerTest::StartServer() {
  absl::StatusOr<std::unique_ptr<StepcurveServer>> server = StepcurveServer::Start(server_options_);
  EXPECT_THAT(server, IsOk());
  return server.ok() ? *std::move(server) : nullptr;
}

int64_t ServerTest::Submit(const std::string& name, int64_t trials) {
  const auto stub = v1::SweepService::NewStub(Dial({.server = absl::StrCat("localhost:", port())}));
  grpc::ClientContext context;
  v1::CreateSweepRequest request;
  *request.mutable_spec() = Quadratic(name, trials);
  request.set_request_id(name);
  v1::CreateSweepResponse response;
  EXPECT_THAT(FromGrpc(stub->CreateSweep(&context, request, &response)), IsOk());
  return response.sweep().id();
}

void ServerTest::Cancel(const std::string& name) {
  const auto stub = v1::SweepService::NewStub(Dial({.server = absl::StrCat("localhost:", port())}));
  grpc::ClientContext context;
  v1::CancelSweepRequest request;
  request.set_sweep(name);
  v1::CancelSweepResponse response;
  EXPECT_THAT(FromGrpc(stub->CancelSweep(&context, request, &response)), IsOk());
}

bool ServerTest::Comes(const std::string& statement, const std::string& value) {
  const absl::Time deadline = absl::Now() + kGenerous;
  while (Value(statement) != value) {
    if (absl::Now() > deadline) {
      ADD_FAILURE() << statement << " is " << Value(statement) << ", never " << value;
      return false;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace stepcurve
