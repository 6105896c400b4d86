// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/cord.h"
#include "proto/channel/grpc_status.h"
#include "tests/client/commands/command_test.h"
#include "tests/client/sample.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kYaml[] = "name: fig1\nbatch_sizes: [2]\nsearch:\n  trials: 5\n  space:\n    momentum: 0.9\n";

class SubmitTest : public CommandTest {
 protected:
  SubmitTest() {
    file_ = WriteFile("fig1.yaml", kYaml);
    server_.create_sweep = [this](const v1::CreateSweepRequest& request, v1::CreateSweepResponse* response) {
      requests_.push_back(request);
      *response->mutable_sweep() = SampleSweep();
      response->set_created(true);
      return grpc::Status::OK;
    };
  }

  std::string file_;
  std::vector<v1::CreateSweepRequest> requests_;
};

TEST_F(SubmitTest, PrintsTheIdAlone) {
  const Result result = Run({"submit", file_});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "12\n");
  EXPECT_EQ(result.err, "sweep 12 fig1: 200 trials queued in 2 studies\n");
  ASSERT_THAT(requests_, SizeIs(1));
  EXPECT_EQ(requests_[0].spec().name(), "fig1");
  EXPECT_EQ(requests_[0].spec().search().space(0).fixed(), 0.9);
  EXPECT_EQ(requests_[0].creator(), "ann@host");
  EXPECT_FALSE(requests_[0].validate_only());
  EXPECT_THAT(requests_[0].request_id(), MatchesRegex("[0-9a-f]{32}"));
}

TEST_F(SubmitTest, PrintsAJsonRow) {
  const Result result = Run({"submit", file_, "--output", "json"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["sweep"], 12);
  EXPECT_EQ(nlohmann::json::parse(result.out)["created"], true);
}

TEST_F(SubmitTest, SaysWhenTheSweepWasThere) {
  server_.create_sweep = [](const auto&, v1::CreateSweepResponse* response) {
    *response->mutable_sweep() = SampleSweep();
    return grpc::Status::OK;
  };
  const Result result = Run({"submit", file_});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "12\n");
  EXPECT_EQ(result.err, "sweep 12 fig1: already there, unchanged\n");
}

TEST_F(SubmitTest, RepeatsUnderTheSameIdWhenTheServerIsUnavailable) {
  int calls = 0;
  std::set<std::string> ids;
  const auto answer = server_.create_sweep;
  server_.create_sweep = [&](const v1::CreateSweepRequest& request, v1::CreateSweepResponse* response) {
    ids.insert(request.request_id());
    if (++calls < 3) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the database is away");
    return answer(request, response);
  };
  EXPECT_EQ(Run({"submit", file_}).status, 0);
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(ids, SizeIs(1));
}

TEST_F(SubmitTest, GivesUpOnAServerThatStaysUnavailable) {
  int calls = 0;
  server_.create_sweep = [&](const auto&, auto*) {
    ++calls;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the database is away");
  };
  const Result result = Run({"submit", file_});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.err, "stepcurve submit: the database is away\n");
  EXPECT_GT(calls, 2);
}

TEST_F(SubmitTest, TakesARequestId) {
  EXPECT_EQ(Run({"submit", file_, "--request-id", "mine-1"}).status, 0);
  EXPECT_EQ(requests_.at(0).request_id(), "mine-1");
}

TEST_F(SubmitTest, DryRunPrintsThePlanAndQueuesNothing) {
  server_.create_sweep = [this](const v1::CreateSweepRequest& request, v1::CreateSweepResponse* response) {
    requests_.push_back(request);
    *response->mutable_plan()->add_studies() = SampleStudy(2);
    return grpc::Status::OK;
  };
  const Result result = Run({"submit", file_, "--dry-run"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(requests_.at(0).validate_only());
  EXPECT_THAT(result.out, StartsWith("sweep fig1: 1 workload, 1 study"));
  EXPECT_EQ(result.err, "nothing is queued\n");
}

TEST_F(SubmitTest, PrintsMistakesInTheFileWithTheirLine) {
  const std::string file = WriteFile("bad.yaml", "name: a\npriority: 010\n");
  const Result result = Run({"submit", file});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith(file + ":2: priority: \"010\" is not a number"));
  EXPECT_THAT(requests_, SizeIs(0));
}

TEST_F(SubmitTest, PrintsTheServersErrorsWithTheLineOfTheirField) {
  server_.create_sweep = [](const auto&, auto*) {
    absl::Status status = absl::InvalidArgumentError("optimizer sgd has no momentum");
    status.SetPayload(kFieldPayloadKey, absl::Cord("search.space.momentum"));
    return ToGrpc(status);
  };
  const Result result = Run({"submit", file_});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, file_ + ":6: search.space.momentum: optimizer sgd has no momentum\n");
}

TEST_F(SubmitTest, PrintsATakenNameOnTheFirstLine) {
  server_.create_sweep = [](const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "fig1 exists with another search.space.momentum");
  };
  const Result result = Run({"submit", file_});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, file_ + ":1: fig1 exists with another search.space.momentum\n");
}

TEST_F(SubmitTest, SaysWhichFileCannotBeRead) {
  EXPECT_EQ(Run({"submit", "/nowhere/fig1.yaml"}).err,
            "stepcurve submit: /nowhere/fig1.yaml: cannot be read: No such file or directory\n");
  const Result folder = Run({"submit", "/tmp"});
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.err, HasSubstr("Is a directory"));
}

TEST_F(SubmitTest, WaitFollowsTheSweepOnStderr) {
  server_.watch_sweep = [](const v1::WatchSweepRequest& request, grpc::ServerWriter<v1::WatchSweepResponse>* writer) {
    EXPECT_EQ(request.sweep(), "12");
    v1::WatchSweepResponse response;
    *response.mutable_progress()->mutable_sweep() = SampleSweep();
    response.mutable_progress()->mutable_sweep()->set_state(v1::DONE);
    *response.mutable_progress()->mutable_sweep()->mutable_counts() = FromText<v1::StateCounts>("complete: 200");
    writer->Write(response);
    return grpc::Status::OK;
  };
  const Result result = Run({"submit", file_, "--wait"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "12\n");
  EXPECT_THAT(result.err, HasSubstr("200/200 done  100 %  done"));
}

}  // namespace
}  // namespace stepcurve
