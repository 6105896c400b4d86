// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <thread>

#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "tests/client/commands/command_test.h"
#include "tests/client/sample.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Writer = grpc::ServerWriter<v1::WatchSweepResponse>;

v1::WatchSweepResponse Snapshot(v1::SweepState state, int64_t complete, int64_t failed = 0) {
  v1::WatchSweepResponse response;
  v1::Progress* progress = response.mutable_progress();
  *progress->mutable_sweep() = SampleSweep();
  progress->mutable_sweep()->set_state(state);
  progress->mutable_sweep()->mutable_counts()->Clear();
  progress->mutable_sweep()->mutable_counts()->set_complete(complete);
  progress->mutable_sweep()->mutable_counts()->set_failed(failed);
  *progress->add_studies() = SampleStudy(2);
  return response;
}

class WatchTest : public CommandTest {};

struct Ending {
  v1::SweepState state;
  int64_t failed;
  int status;
};

// For the names that ctest shows.
void PrintTo(const Ending& row, std::ostream* out) {
  *out << v1::SweepState_Name(row.state) << " with " << row.failed << " failed";
}

class WatchEndingTest : public CommandTest, public ::testing::WithParamInterface<Ending> {};

TEST_P(WatchEndingTest, BecomesTheExitStatus) {
  server_.watch_sweep = [](const auto&, Writer* writer) {
    writer->Write(Snapshot(GetParam().state, 1, GetParam().failed));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "fig1"}).status, GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(All, WatchEndingTest,
                         ::testing::Values(Ending{v1::DONE, 0, 0}, Ending{v1::DONE, 1, 1},
                                           Ending{v1::SWEEP_CANCELLED, 0, 1}));

TEST_F(WatchTest, PrintsTheFirstAndTheLastLineWithinAMinute) {
  server_.watch_sweep = [](const auto&, Writer* writer) {
    for (int i = 0; i < 50; ++i) writer->Write(Snapshot(v1::ACTIVE, i));
    writer->Write(Snapshot(v1::PAUSED, 50));
    writer->Write(Snapshot(v1::DONE, 200));
    return grpc::Status::OK;
  };
  const Result result = Run({"watch", "fig1"});
  EXPECT_EQ(result.status, 0);
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("fig1  0/200 done"));
  EXPECT_THAT(lines[1], HasSubstr("fig1  200/200 done"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
}

TEST_F(WatchTest, PrintsJsonThatParses) {
  server_.watch_sweep = [](const auto&, Writer* writer) {
    writer->Write(Snapshot(v1::DONE, 200));
    return grpc::Status::OK;
  };
  const Result result = Run({"--output", "json", "watch", "fig1"});
  EXPECT_EQ(nlohmann::json::parse(result.out)["state"], "done");
}

TEST_F(WatchTest, RedrawsATerminalInPlaceWithTheCurve) {
  environment_.out_is_terminal = true;
  environment_.curve_interval = absl::ZeroDuration();
  std::atomic<int> curves = 0;
  server_.get_curve = [&](const v1::GetCurveRequest& request, v1::GetCurveResponse* response) {
    ++curves;
    EXPECT_EQ(request.workload(), "fashion_mnist/simple_cnn_base/sgd");
    EXPECT_EQ(request.sweeps(0), "fig1");
    EXPECT_EQ(request.goals(0).threshold(), 0.1);
    *response->add_curves() = SampleCurve();
    return grpc::Status::OK;
  };
  server_.watch_sweep = [](const auto&, Writer* writer) {
    writer->Write(Snapshot(v1::ACTIVE, 100));
    writer->Write(Snapshot(v1::DONE, 200));
    return grpc::Status::OK;
  };
  const Result result = Run({"watch", "fig1"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(curves, 2);
  // Six lines, then up over them again.
  const std::vector<std::string> screens = absl::StrSplit(result.out, "\x1b[6A\r\x1b[J");
  ASSERT_THAT(screens, SizeIs(2)) << result.out;
  EXPECT_THAT(screens[0], HasSubstr("fig1  100/200 done  [##########-----------]  50 %"));
  EXPECT_THAT(screens[0], HasSubstr("steps  21.7k    302    331    171      .      ."));
  EXPECT_THAT(screens[1], HasSubstr("fig1  200/200 done  [#####################]  100 %   done"));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b[3")));
}

TEST_F(WatchTest, ColoursWhatNeedsALookWhereColoursAreWanted) {
  environment_.out_is_terminal = true;
  environment_.colour = true;
  server_.watch_sweep = [](const auto&, Writer* writer) {
    writer->Write(Snapshot(v1::DONE, 199, 1));
    return grpc::Status::OK;
  };
  EXPECT_THAT(Run({"watch", "fig1"}).out, HasSubstr("\x1b[31mcomplete 199"));
}

TEST_F(WatchTest, SurvivesARestartOfTheServer) {
  auto server = std::make_unique<FakeServer>();
  const int port = server->port();
  const std::string address = server->address();
  absl::Notification printed;
  server->watch_sweep = [&](const auto&, Writer* writer) {
    writer->Write(Snapshot(v1::ACTIVE, 1));
    printed.Notify();
    // Until the server goes down.
    while (writer->Write(Snapshot(v1::ACTIVE, 2))) {
    }
    return grpc::Status::OK;
  };
  std::thread restart([&] {
    printed.WaitForNotification();
    server.reset();
    server = std::make_unique<FakeServer>(port);
    server->watch_sweep = [](const auto&, Writer* writer) {
      writer->Write(Snapshot(v1::DONE, 200));
      return grpc::Status::OK;
    };
  });
  const Result result = Run({"--server", address, "watch", "fig1"});
  restart.join();
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("dialling again"));
  EXPECT_THAT(result.out, HasSubstr("200/200 done"));
}

TEST_F(WatchTest, GoesOnWhenTheStreamEndsBeforeTheSweep) {
  std::atomic<int> calls = 0;
  server_.watch_sweep = [&](const auto&, Writer* writer) {
    writer->Write(Snapshot(++calls < 3 ? v1::ACTIVE : v1::DONE, 1));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({"watch", "fig1"}).status, 0);
  EXPECT_EQ(calls, 3);
}

TEST_F(WatchTest, StopsWhenNothingIsHeardForLong) {
  environment_.patience = absl::Milliseconds(50);
  std::atomic<int> calls = 0;
  server_.watch_sweep = [&](const auto&, Writer* writer) {
    if (++calls == 1) writer->Write(Snapshot(v1::ACTIVE, 1));
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the database is away");
  };
  EXPECT_EQ(Run({"watch", "fig1"}).status, 3);
  EXPECT_GT(calls, 2);
}

TEST_F(WatchTest, FailsAtOnceWhereThereIsNothingToWatch) {
  server_.watch_sweep = [](const auto&, Writer*) { return grpc::Status(grpc::StatusCode::NOT_FOUND, "no sweep fig1"); };
  const Result result = Run({"watch", "fig1"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "stepcurve watch: no sweep fig1\n");
  EXPECT_EQ(Run({"--server", "127.0.0.1:1", "watch", "fig1"}).status, 3);
}

}  // namespace
}  // namespace stepcurve
