// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/api_fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/support/clock.h"
#include "server/wire/study_to_proto.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {

void ApiTest::SetUp() {
  PostgresTest::SetUp();
  ASSERT_NE(database_, nullptr);
  sweeps_ = std::make_unique<SweepStore>(database_.get());
  trials_ = std::make_unique<TrialStore>(database_.get());
  sessions_ = std::make_unique<SessionStore>(SessionStore::Options{.database = database_.get()});
  curves_ = std::make_unique<CurveStore>(database_.get());
  data_ = std::make_unique<MeasuredSweeps>(database_.get());
  sweep_service_ = std::make_unique<SweepServiceImpl>(SweepServiceImpl::Options{.sweeps = sweeps_.get(),
                                                                                .trials = trials_.get(),
                                                                                .sessions = sessions_.get(),
                                                                                .curves = curves_.get(),
                                                                                .clock = Clock::System()});
  curve_service_ = std::make_unique<CurveServiceImpl>(curves_.get());
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(sweep_service_.get());
  builder.RegisterService(curve_service_.get());
  server_ = builder.BuildAndStart();
  ASSERT_NE(server_, nullptr);
  const auto channel = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials());
  sweep_stub_ = v1::SweepService::NewStub(channel);
  curve_stub_ = v1::CurveService::NewStub(channel);
}

void ApiTest::TearDown() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  curve_service_.reset();
  sweep_service_.reset();
  PostgresTest::TearDown();
}

void ApiTest::ConnectWorker(const std::string& name, int slots) {
  HelloRequest hello;
  hello.key = absl::StrFormat("%032x", ++workers_);
  hello.worker_name = name;
  hello.build = "test";
  hello.server_name = "server-1";
  hello.slot_classes = {{.device = "cpu", .devices = 1, .memory_bytes = int64_t{1} << 40, .slots = slots}};
  hello.can_run.datasets = {{.name = "quadratic"}};
  hello.can_run.models = {"noisy_quadratic"};
  hello.can_run.optimizers = {"sgd"};
  ASSERT_THAT(sessions_->Hello(hello), IsOk());
}

std::string ApiTest::Text(const grpc::Status& status) {
  if (status.ok()) return "OK";
  return absl::StrCat(absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code())), ": ",
                      status.error_message());
}

v1::Goal ApiTest::GoalOf(const std::string& text) { return ToProto(*ParseGoal(text)); }

v1::GetCurveRequest ApiTest::CurveRequest(const std::string& goal) {
  v1::GetCurveRequest request;
  request.set_workload(kQuadratic);
  *request.add_goals() = GoalOf(goal);
  return request;
}

v1::SweepSpec QuadraticSpec(const std::string& name, int64_t trials) {
  v1::SweepSpec spec;
  spec.set_name(name);
  v1::WorkloadSpec* workload = spec.add_workloads();
  workload->add_dataset("quadratic");
  workload->add_model("noisy_quadratic_100");
  workload->add_optimizer("sgd");
  spec.mutable_batch_sizes()->add_sizes(4);
  spec.mutable_batch_sizes()->add_sizes(16);
  spec.mutable_search()->set_trials(trials);
  v1::SpaceEntry* rate = spec.mutable_search()->add_space();
  rate->set_name("learning_rate");
  rate->mutable_range()->set_min(0.01);
  rate->mutable_range()->set_max(1);
  rate->mutable_range()->set_scale("log");
  spec.mutable_budget()->set_steps(1000);
  return spec;
}

}  // namespace stepcurve
