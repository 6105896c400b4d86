// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/progress.h"
#include "tests/server/api/api_fixture.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class StreamMeasurementsTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    study_ = data_->Study(data_->Sweep({.name = "one"}), QuadraticStudy(8));
  }
  // The batches of a stream, and how it ended.
  std::vector<v1::MeasurementBatch> Stream(const v1::StreamMeasurementsRequest& request, std::string* end) {
    grpc::ClientContext context;
    const auto reader = sweep_stub_->StreamMeasurements(&context, request);
    std::vector<v1::MeasurementBatch> batches;
    v1::StreamMeasurementsResponse response;
    while (reader->Read(&response)) batches.push_back(response.batch());
    *end = Text(reader->Finish());
    return batches;
  }
  int64_t study_ = 0;
};

TEST_F(StreamMeasurementsTest, GivesEveryPointOfEveryTrialInOrder) {
  std::vector<int64_t> steps;
  std::vector<double> losses;
  for (int64_t p = 0; p < 20'000; ++p) {
    steps.push_back(p);
    losses.push_back(1.0 / static_cast<double>(p + 3));
  }
  const int64_t big = data_->Trial(study_, Losses(steps, losses));
  data_->Trial(study_, Losses({5}, {0.5}));
  v1::StreamMeasurementsRequest request;
  request.set_sweep("one");
  request.add_trials(absl::StrCat(big));
  request.add_trials("8/2");
  std::string end;
  const std::vector<v1::MeasurementBatch> batches = Stream(request, &end);
  EXPECT_EQ(end, "OK");
  int64_t next = 0;
  for (const v1::MeasurementBatch& batch : batches) {
    if (batch.trial() != big) continue;
    EXPECT_LE(batch.measurements_size(), 1024);
    for (const v1::Measurement& measurement : batch.measurements()) {
      ASSERT_EQ(measurement.step(), next);
      ASSERT_EQ(measurement.values(0), losses[next]);
      ASSERT_EQ(measurement.values(1), losses[next] + 1);
      ++next;
    }
  }
  EXPECT_EQ(next, 20'000);
  EXPECT_EQ(batches.back().measurements_size(), 1);
  EXPECT_THAT(batches.back().metrics(), ElementsAre("val/loss", "test/loss"));
}

TEST_F(StreamMeasurementsTest, LeavesOutWhatWasSupersededUnlessAsked) {
  const int64_t trial = data_->Trial(study_, Losses({0, 10, 20}, {1, 0.5, 0.25}));
  Sql(absl::StrCat(
      "INSERT INTO past_attempts (trial_id, attempt, session_id, base_step, last_step, start_time, outcome)"
      " VALUES (",
      trial,
      ", 1, 1, -1, 20, now(), 'lost');"
      "UPDATE trials SET attempt = 2, base_step = -1 WHERE id = ",
      trial,
      ";"
      "INSERT INTO chunks VALUES (",
      trial, ", 2, 0, 10, 0, 0, '{0,10}', '{1,0.75,2,1.75}')"));
  v1::StreamMeasurementsRequest request;
  request.add_trials(absl::StrCat(trial));
  request.set_metric("test/loss");
  std::string end;
  std::vector<v1::MeasurementBatch> batches = Stream(request, &end);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].attempt(), 2);
  EXPECT_THAT(batches[0].metrics(), ElementsAre("test/loss"));
  EXPECT_THAT(batches[0].measurements(1).values(), ElementsAre(1.75));
  request.set_superseded(true);
  batches = Stream(request, &end);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_TRUE(batches[0].superseded());
  EXPECT_EQ(batches[0].measurements_size(), 3);
  EXPECT_FALSE(batches[1].superseded());
}

TEST_F(StreamMeasurementsTest, ARequestThatIsWrongFailsAtOnce) {
  data_->Trial(study_, Losses({0}, {1}));
  const auto failure = [&](const std::vector<std::string>& trials, const std::string& metric) {
    v1::StreamMeasurementsRequest request;
    request.set_sweep("one");
    for (const std::string& trial : trials) request.add_trials(trial);
    request.set_metric(metric);
    std::string end;
    Stream(request, &end);
    return end;
  };
  EXPECT_THAT(failure({}, ""), StartsWith("INVALID_ARGUMENT: trials: has 0 entries"));
  EXPECT_THAT(failure(std::vector<std::string>(1001, "8/1"), ""), StartsWith("INVALID_ARGUMENT: trials: has 1001"));
  EXPECT_THAT(failure({"8/1", "x"}, ""), StartsWith("INVALID_ARGUMENT: trials[1]: is \"x\""));
  EXPECT_THAT(failure({"8/9"}, ""), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(failure({"8/1"}, "val/error"), StartsWith("INVALID_ARGUMENT: metric: is val/error"));
}

TEST_F(StreamMeasurementsTest, AReaderThatGoesAwayEndsItsStream) {
  std::vector<int64_t> steps;
  for (int64_t p = 0; p < 100'000; ++p) steps.push_back(p);
  const int64_t trial = data_->Trial(study_, Losses(steps, std::vector<double>(steps.size(), 0.5)));
  {
    grpc::ClientContext context;
    v1::StreamMeasurementsRequest request;
    for (int i = 0; i < 50; ++i) request.add_trials(absl::StrCat(trial));
    const auto reader = sweep_stub_->StreamMeasurements(&context, request);
    v1::StreamMeasurementsResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    while (reader->Read(&response)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // The server is still there for others, and TearDown's shutdown finds no stream left over.
  v1::StreamMeasurementsRequest request;
  request.add_trials("nonsense");
  std::string end;
  Stream(request, &end);
  EXPECT_THAT(end, StartsWith("INVALID_ARGUMENT: trials[0]"));
}

class WatchSweepTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    sweep_ = data_->Sweep({.name = "one", .state = SweepState::kActive});
    study_ = data_->Study(sweep_, QuadraticStudy(8));
    data_->Trial(study_, {.state = TrialState::kQueued});
  }
  std::unique_ptr<grpc::ClientReader<v1::WatchSweepResponse>> Watch(grpc::ClientContext& context,
                                                                    const std::string& sweep) {
    v1::WatchSweepRequest request;
    request.set_sweep(sweep);
    return sweep_stub_->WatchSweep(&context, request);
  }
  int64_t sweep_ = 0, study_ = 0;
};

TEST_F(WatchSweepTest, ShowsTheStateThenEveryChangeThenTheEnd) {
  grpc::ClientContext context;
  const auto reader = Watch(context, "one");
  v1::WatchSweepResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.progress().sweep().counts().queued(), 1);
  EXPECT_EQ(response.progress().studies(0).waiting_for(), v1::WORKER);
  EXPECT_LT(response.progress().seconds_left(), 0);

  data_->Trial(study_, Losses({0}, {1}));
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.progress().sweep().counts().complete(), 1);
  EXPECT_GT(response.progress().trials_per_second(), 0);
  EXPECT_GT(response.progress().seconds_left(), 0);

  ASSERT_EQ(Text([&] {
              grpc::ClientContext cancel;
              v1::CancelSweepRequest request;
              request.set_sweep("one");
              v1::CancelSweepResponse cancelled;
              return sweep_stub_->CancelSweep(&cancel, request, &cancelled);
            }()),
            "OK");
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.progress().sweep().state(), v1::SWEEP_CANCELLED);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(Text(reader->Finish()), "OK");
}

TEST_F(WatchSweepTest, ManyWatchersSeeTheSameEndWhicheverNameTheyUsed) {
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchSweepResponse>>> readers;
  v1::WatchSweepResponse response;
  for (int i = 0; i < 20; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(Watch(*contexts.back(), i % 2 == 0 ? "one" : absl::StrCat(sweep_)));
    ASSERT_TRUE(readers.back()->Read(&response));
  }
  contexts[3]->TryCancel();
  Sql("UPDATE sweeps SET state = 'done', end_time = now()");
  for (size_t i = 0; i < readers.size(); ++i) {
    bool ended = false;
    while (readers[i]->Read(&response)) ended = response.progress().sweep().state() == v1::DONE;
    EXPECT_EQ(readers[i]->Finish().ok(), i != 3) << i;
    EXPECT_EQ(ended, i != 3) << i;
  }
}

TEST_F(WatchSweepTest, ASweepThatHasEndedIsTheOnlyMessage) {
  Sql("UPDATE sweeps SET state = 'done', end_time = now()");
  grpc::ClientContext context;
  const auto reader = Watch(context, "one");
  v1::WatchSweepResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.progress().sweep().state(), v1::DONE);
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(Text(reader->Finish()), "OK");
}

TEST_F(WatchSweepTest, ComesAtMostTwiceASecond) {
  grpc::ClientContext context;
  const auto reader = Watch(context, "one");
  v1::WatchSweepResponse response;
  ASSERT_TRUE(reader->Read(&response));
  const absl::Time start = absl::Now();
  std::thread mover([&] {
    for (int i = 0; i < 200; ++i) Sql("UPDATE sweeps SET version = version + 1");
    Sql("UPDATE sweeps SET state = 'done', end_time = now()");
  });
  int messages = 0;
  while (reader->Read(&response)) ++messages;
  mover.join();
  EXPECT_LE(messages, 2 + absl::ToDoubleSeconds(absl::Now() - start) / 0.5);
  EXPECT_EQ(response.progress().sweep().state(), v1::DONE);
}

TEST_F(WatchSweepTest, SurvivesADatabaseOutage) {
  grpc::ClientContext context;
  const auto reader = Watch(context, "one");
  v1::WatchSweepResponse response;
  ASSERT_TRUE(reader->Read(&response));
  // To the server the database is away: its tables cannot be read.
  Sql("ALTER TABLE sweeps RENAME TO away");
  absl::SleepFor(absl::Milliseconds(1200));  // Two readings that fail.
  Sql("ALTER TABLE away RENAME TO sweeps; UPDATE sweeps SET state = 'done', end_time = now()");
  while (reader->Read(&response)) {
  }
  EXPECT_EQ(response.progress().sweep().state(), v1::DONE);
  EXPECT_EQ(Text(reader->Finish()), "OK");
}

TEST_F(WatchSweepTest, UnknownAndBadNamesFail) {
  v1::WatchSweepResponse response;
  grpc::ClientContext missing;
  auto reader = Watch(missing, "missing");
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(Text(reader->Finish()), StartsWith("NOT_FOUND: "));
  grpc::ClientContext empty;
  reader = Watch(empty, "");
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_THAT(Text(reader->Finish()), StartsWith("INVALID_ARGUMENT: sweep: "));
}

TEST(EndingRateTest, IsOverTheLastMinute) {
  EndingRate rate;
  const absl::Time start = absl::FromUnixSeconds(1000);
  v1::Progress progress;
  progress.mutable_sweep()->set_state(v1::ACTIVE);
  v1::StateCounts& counts = *progress.mutable_sweep()->mutable_counts();
  counts.set_queued(100);
  rate.Stamp(start, progress);
  EXPECT_EQ(progress.trials_per_second(), 0);
  EXPECT_EQ(progress.seconds_left(), -1);
  counts.set_complete(10);
  counts.set_infeasible(10);
  rate.Stamp(start + absl::Seconds(10), progress);
  EXPECT_EQ(progress.trials_per_second(), 2);
  EXPECT_EQ(progress.seconds_left(), 50);
  rate.Stamp(start + absl::Seconds(90), progress);
  EXPECT_EQ(progress.trials_per_second(), 0);
  EXPECT_EQ(progress.seconds_left(), -1);
}

}  // namespace
}  // namespace stepcurve
