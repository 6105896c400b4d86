// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/api/api_fixture.h"

namespace stepcurve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class SweepServiceTest : public ApiTest {
 protected:
  static v1::CreateSweepRequest Submit(const std::string& name, const std::string& id) {
    v1::CreateSweepRequest request;
    *request.mutable_spec() = QuadraticSpec(name);
    request.set_request_id(id);
    return request;
  }
  std::string Create(const v1::CreateSweepRequest& request, v1::CreateSweepResponse* response = nullptr) {
    grpc::ClientContext context;
    v1::CreateSweepResponse ignored;
    return Text(sweep_stub_->CreateSweep(&context, request, response != nullptr ? response : &ignored));
  }
  std::string Get(const std::string& sweep, v1::GetSweepResponse* response) {
    grpc::ClientContext context;
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    request.set_resolved(true);
    return Text(sweep_stub_->GetSweep(&context, request, response));
  }
  template <typename Request, typename Response>
  std::string Move(grpc::Status (v1::SweepService::Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                   const std::string& sweep) {
    grpc::ClientContext context;
    Request request;
    request.set_sweep(sweep);
    Response response;
    const grpc::Status status = (sweep_stub_.get()->*rpc)(&context, request, &response);
    return status.ok() ? v1::SweepState_Name(response.sweep().state()) : Text(status);
  }
  std::string Pause(const std::string& sweep) { return Move(&v1::SweepService::Stub::PauseSweep, sweep); }
  std::string Resume(const std::string& sweep) { return Move(&v1::SweepService::Stub::ResumeSweep, sweep); }
  std::string Cancel(const std::string& sweep) { return Move(&v1::SweepService::Stub::CancelSweep, sweep); }
};

TEST_F(SweepServiceTest, ASubmittedSweepComesBackAsItWasWritten) {
  v1::CreateSweepRequest request = Submit("small", "id-1");
  request.set_creator("ada");
  request.mutable_spec()->add_tags("first");
  request.mutable_spec()->set_description("two sizes");
  request.mutable_spec()->add_goals("val/loss < 0.1");
  v1::CreateSweepResponse created;
  ASSERT_EQ(Create(request, &created), "OK");
  EXPECT_TRUE(created.created());
  EXPECT_EQ(created.sweep().counts().queued(), 8);
  EXPECT_EQ(created.plan().wanted(), 8);
  v1::GetSweepResponse got;
  ASSERT_EQ(Get("small", &got), "OK");
  EXPECT_EQ(got.spec().SerializeAsString(), request.spec().SerializeAsString());
  EXPECT_EQ(got.sweep().creator(), "ada");
  EXPECT_EQ(got.sweep().state(), v1::ACTIVE);
  EXPECT_THAT(got.sweep().goals(), ElementsAre("val/loss < 0.1"));
  EXPECT_FALSE(got.resolved().empty());
  ASSERT_EQ(got.studies_size(), 2);
  EXPECT_EQ(got.studies(0).batch_size(), 4);
  EXPECT_EQ(got.studies(0).workload().address(), kQuadratic);
  EXPECT_EQ(got.studies(0).counts().queued(), 4);
  EXPECT_EQ(got.studies(0).waiting_for(), v1::WORKER);
  EXPECT_GT(got.studies(0).evaluations(), 10);
  v1::GetSweepResponse by_id;
  ASSERT_EQ(Get(absl::StrCat(got.sweep().id()), &by_id), "OK");
  EXPECT_EQ(by_id.sweep().name(), "small");
}

TEST_F(SweepServiceTest, ARepeatFindsTheSweepAndAnotherContentIsRefused) {
  ASSERT_EQ(Create(Submit("small", "id-1")), "OK");
  v1::CreateSweepResponse again;
  ASSERT_EQ(Create(Submit("small", "id-1"), &again), "OK");
  EXPECT_FALSE(again.created());
  ASSERT_EQ(Create(Submit("small", "id-2"), &again), "OK");
  EXPECT_FALSE(again.created());

  v1::CreateSweepRequest changed = Submit("small", "id-3");
  changed.mutable_spec()->mutable_search()->mutable_space(0)->mutable_range()->set_max(2);
  EXPECT_THAT(
      Create(changed),
      StartsWith("ALREADY_EXISTS: name: a sweep named \"small\" exists with another search.space.learning_rate"));
  changed.set_request_id("id-1");
  EXPECT_THAT(Create(changed), AllOf(StartsWith("ALREADY_EXISTS: "), HasSubstr("id-1")));
  v1::CreateSweepRequest renamed = Submit("other", "id-1");
  EXPECT_THAT(Create(renamed), AllOf(StartsWith("ALREADY_EXISTS: "), HasSubstr("id-1")));
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps"), 1);
}

TEST_F(SweepServiceTest, ValidateOnlyTellsThePlanAndWhoCouldRunIt) {
  ConnectWorker("node-1", 3);
  ConnectWorker("node-2", 5);
  v1::CreateSweepRequest request = Submit("small", "");
  request.set_validate_only(true);
  v1::CreateSweepResponse response;
  ASSERT_EQ(Create(request, &response), "OK");
  EXPECT_FALSE(response.has_sweep());
  EXPECT_EQ(response.plan().studies_size(), 2);
  EXPECT_EQ(response.plan().wanted(), 8);
  EXPECT_EQ(response.plan().fitting_workers(), 2);
  EXPECT_EQ(response.plan().fitting_slots(), 8);
  EXPECT_FALSE(response.plan().resolved().empty());
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps"), 0);
}

TEST_F(SweepServiceTest, MovesAreIdempotentAndIllegalOnesSaySo) {
  ASSERT_EQ(Create(Submit("small", "id-1")), "OK");
  EXPECT_EQ(Resume("small"), "ACTIVE");
  EXPECT_EQ(Pause("small"), "PAUSED");
  EXPECT_EQ(Pause("small"), "PAUSED");
  EXPECT_EQ(Resume("small"), "ACTIVE");
  EXPECT_EQ(Cancel("small"), "SWEEP_CANCELLED");
  EXPECT_EQ(Cancel("small"), "SWEEP_CANCELLED");
  EXPECT_THAT(Pause("small"), StartsWith("FAILED_PRECONDITION"));
  EXPECT_THAT(Resume("small"), StartsWith("FAILED_PRECONDITION"));
  v1::GetSweepResponse got;
  ASSERT_EQ(Get("small", &got), "OK");
  EXPECT_EQ(got.sweep().counts().cancelled(), 8);
  EXPECT_EQ(got.studies(0).counts().cancelled(), 4);
  EXPECT_EQ(got.studies(0).waiting_for(), v1::NOTHING);
  data_->Sweep({.name = "ended"});
  EXPECT_THAT(Cancel("ended"), StartsWith("FAILED_PRECONDITION"));
}

TEST_F(SweepServiceTest, ListsPageNewestFirst) {
  for (int i = 0; i < 5; ++i) data_->Sweep({.name = absl::StrCat("sweep-", i)});
  Sql("UPDATE sweeps SET tags = '{odd}' WHERE name IN ('sweep-1', 'sweep-3')");
  std::vector<std::string> names;
  v1::ListSweepsRequest request;
  request.set_page_size(2);
  do {
    grpc::ClientContext context;
    v1::ListSweepsResponse response;
    ASSERT_EQ(Text(sweep_stub_->ListSweeps(&context, request, &response)), "OK");
    for (const v1::Sweep& sweep : response.sweeps()) names.push_back(sweep.name());
    names.push_back("|");
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("sweep-4", "sweep-3", "|", "sweep-2", "sweep-1", "|", "sweep-0", "|"));

  grpc::ClientContext context;
  v1::ListSweepsResponse response;
  v1::ListSweepsRequest odd;
  odd.set_tag("odd");
  odd.set_state(v1::DONE);
  ASSERT_EQ(Text(sweep_stub_->ListSweeps(&context, odd, &response)), "OK");
  EXPECT_EQ(response.sweeps_size(), 2);
}

struct BadSubmit {
  std::string name;
  std::function<void(v1::CreateSweepRequest&)> spoil;
  std::string failure;
};

class BadSubmitTest : public SweepServiceTest, public ::testing::WithParamInterface<BadSubmit> {};

TEST_P(BadSubmitTest, NamesTheFieldAndCreatesNothing) {
  v1::CreateSweepRequest request = Submit("small", "id-1");
  GetParam().spoil(request);
  EXPECT_THAT(Create(request), StartsWith(GetParam().failure));
  EXPECT_EQ(Number("SELECT count(*) FROM sweeps"), 0);
}

using Request = v1::CreateSweepRequest;
INSTANTIATE_TEST_SUITE_P(
    All, BadSubmitTest,
    ::testing::Values(
        BadSubmit{"NoRequestId", [](Request& r) { r.clear_request_id(); }, "INVALID_ARGUMENT: request_id: "},
        BadSubmit{"LongRequestId", [](Request& r) { r.set_request_id(std::string(129, 'a')); },
                  "INVALID_ARGUMENT: request_id: is 129"},
        BadSubmit{"OddRequestId", [](Request& r) { r.set_request_id("a b"); }, "INVALID_ARGUMENT: request_id: "},
        BadSubmit{"LongCreator", [](Request& r) { r.set_creator(std::string(257, 'a')); },
                  "INVALID_ARGUMENT: creator: is 257"},
        BadSubmit{"NulInCreator", [](Request& r) { r.set_creator(std::string("a\0b", 3)); },
                  "INVALID_ARGUMENT: creator: "},
        BadSubmit{"NulInDescription", [](Request& r) { r.mutable_spec()->set_description(std::string("a\0b", 3)); },
                  "INVALID_ARGUMENT: "},
        BadSubmit{"NoSpec", [](Request& r) { r.clear_spec(); }, "INVALID_ARGUMENT: name: "},
        BadSubmit{"NoWorkload", [](Request& r) { r.mutable_spec()->clear_workloads(); }, "INVALID_ARGUMENT: workloads"},
        BadSubmit{"UnknownModel", [](Request& r) { r.mutable_spec()->mutable_workloads(0)->set_model(0, "fc"); },
                  "INVALID_ARGUMENT: workloads[0].model"},
        BadSubmit{"ExactStopping",
                  [](Request& r) {
                    r.mutable_spec()->mutable_stop()->set_exact(true);
                    r.mutable_spec()->add_goals("val/loss < 0.1");
                  },
                  "INVALID_ARGUMENT: stop.exact: "},
        BadSubmit{"Repeats", [](Request& r) { r.mutable_spec()->mutable_search()->set_repeats(2); },
                  "INVALID_ARGUMENT: search.repeats: "},
        BadSubmit{"UnknownField",
                  [](Request& r) {
                    r.mutable_spec()->GetReflection()->MutableUnknownFields(r.mutable_spec())->AddVarint(99, 1);
                  },
                  "INVALID_ARGUMENT: "}),
    [](const auto& info) { return info.param.name; });

TEST_F(SweepServiceTest, BadNamesAreInvalidAndMissingOnesNotFound) {
  v1::GetSweepResponse got;
  EXPECT_THAT(Get("", &got), StartsWith("INVALID_ARGUMENT: sweep: is empty"));
  EXPECT_THAT(Get(std::string("a\0b", 3), &got), StartsWith("INVALID_ARGUMENT: sweep: "));
  EXPECT_THAT(Get(std::string(1000, 'a'), &got), StartsWith("INVALID_ARGUMENT: sweep: is 1000 bytes"));
  EXPECT_THAT(Get("missing", &got), AllOf(StartsWith("NOT_FOUND: "), HasSubstr("missing")));
  EXPECT_THAT(Get("123456", &got), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Get("99999999999999999999", &got), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Pause(""), StartsWith("INVALID_ARGUMENT: sweep"));
  EXPECT_THAT(Pause("missing"), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Resume(""), StartsWith("INVALID_ARGUMENT: sweep"));
  EXPECT_THAT(Resume("missing"), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Cancel(""), StartsWith("INVALID_ARGUMENT: sweep"));
  EXPECT_THAT(Cancel("missing"), StartsWith("NOT_FOUND: "));
}

TEST_F(SweepServiceTest, BadListsSayWhatIsAllowed) {
  const auto list = [&](const std::function<void(v1::ListSweepsRequest&)>& spoil) {
    grpc::ClientContext context;
    v1::ListSweepsRequest request;
    v1::ListSweepsResponse response;
    spoil(request);
    return Text(sweep_stub_->ListSweeps(&context, request, &response));
  };
  EXPECT_EQ(list([](auto& r) { r.set_page_size(-1); }),
            "INVALID_ARGUMENT: page_size: is -1; it must be 1 to 1000, or 0 for 100");
  EXPECT_THAT(list([](auto& r) { r.set_page_size(1001); }), StartsWith("INVALID_ARGUMENT: page_size: is 1001"));
  EXPECT_THAT(list([](auto& r) { r.set_page_token("x"); }), StartsWith("INVALID_ARGUMENT: page_token: "));
  EXPECT_THAT(list([](auto& r) { r.set_state(static_cast<v1::SweepState>(9)); }),
              StartsWith("INVALID_ARGUMENT: state: is 9"));
  EXPECT_THAT(list([](auto& r) { r.set_tag("a\tb"); }), StartsWith("INVALID_ARGUMENT: tag: "));
}

TEST_F(SweepServiceTest, TheRegistriesSayWhatThereIs) {
  ConnectWorker("node-1", 3);
  const int64_t sweep = data_->Sweep({.name = "one"});
  data_->Study(sweep, QuadraticStudy(16));
  data_->Study(sweep, QuadraticStudy(4));

  grpc::ClientContext workloads_context, workers_context, catalogue_context;
  v1::ListWorkloadsResponse workloads;
  ASSERT_EQ(Text(sweep_stub_->ListWorkloads(&workloads_context, {}, &workloads)), "OK");
  ASSERT_EQ(workloads.workloads_size(), 1);
  EXPECT_EQ(workloads.workloads(0).workload().address(), kQuadratic);
  EXPECT_THAT(workloads.workloads(0).batch_sizes(), ElementsAre(4, 16));
  EXPECT_THAT(workloads.workloads(0).sweeps(), ElementsAre("one"));

  v1::ListWorkersResponse workers;
  ASSERT_EQ(Text(sweep_stub_->ListWorkers(&workers_context, {}, &workers)), "OK");
  ASSERT_EQ(workers.workers_size(), 1);
  EXPECT_EQ(workers.workers(0).name(), "node-1");
  EXPECT_TRUE(workers.workers(0).connected());
  EXPECT_EQ(workers.workers(0).slots(0).slots(), 3);

  v1::GetCatalogueResponse catalogue;
  ASSERT_EQ(Text(sweep_stub_->GetCatalogue(&catalogue_context, {}, &catalogue)), "OK");
  bool seen = false;
  for (const auto& dataset : catalogue.datasets()) {
    if (dataset.name() != "quadratic") continue;
    seen = true;
    EXPECT_EQ(dataset.workers(), 1);
    EXPECT_EQ(dataset.task(), "quadratic");
    EXPECT_FALSE(dataset.metrics().empty());
  }
  EXPECT_TRUE(seen);
  EXPECT_FALSE(catalogue.models().empty());
  EXPECT_EQ(catalogue.optimizers(0).parameters(0).name(), "learning_rate");
}

}  // namespace
}  // namespace stepcurve
