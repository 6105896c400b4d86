// SPDX-License-Identifier: Apache-2.0
#include "worker/run/frames.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace stepcurve {
namespace {

TrialRun FullRun() {
  TrialRun run;
  run.trial = 7'000'000'000;
  run.attempt = 3;
  run.workload = {.dataset = "fashion_mnist",
                  .data = {{"flip", true}, {"seed", int64_t{-5}}},
                  .model = "fc_64",
                  .options = {{"dropout", 0.25}, {"activation", std::string("tanh")}},
                  .optimizer = "momentum",
                  .variant = "b"};
  run.batch_size = 256;
  run.budget_steps = 1'000'000;
  run.grid = {.kind = EvaluationGrid::Kind::kAt, .at = {1, 5, 25}};
  run.metrics = {"val/loss", "train/loss"};
  run.parameters = {{"learning_rate", 1e-5}, {"momentum", 0.9}};
  run.schedule = "linear";
  run.precision = "float32";
  run.split_intervals = {{"train", 4}};
  run.train_examples = 500;
  run.goals = {{"val/loss", Goal::Comparison::kLessOrEqual, 0.01}};
  run.training_seed = 0xfedcba9876543210;
  return run;
}

std::vector<Frame> EveryFrame() {
  ReadyFrame ready;
  ready.datasets = {{"fashion_mnist", 55000, 5000, 10000, "abc"}};
  ready.models = {"fc", "simple_cnn"};
  ready.optimizers = {"sgd"};
  ready.device = "cuda";
  ready.memory_bytes = int64_t{80} << 30;
  ready.description = "a card";
  ready.versions = "torch 1.13.1";
  ready.warnings = {"slow BLAS"};
  return {RunFrame{2, FullRun()},
          StopFrame{1},
          ready,
          MeasuredFrame{3, 12, {0.5, -0.0, std::numeric_limits<double>::infinity()}, 1.5, 0.25},
          ProgressFrame{0, 41},
          EndedFrame{1, {RunEnd::Kind::kDiverged, 9, 11, true, "loss is inf"}}};
}

std::string Body(const Frame& frame) { return Encode(frame).substr(4); }

TEST(FramesTest, EveryFrameComesBackAsItWas) {
  for (const Frame& frame : EveryFrame()) {
    const auto decoded = Decode(Body(frame));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->index(), frame.index());
    EXPECT_EQ(Encode(*decoded), Encode(frame)) << "type " << frame.index();
  }
}

TEST(FramesTest, ARunKeepsEveryField) {
  const auto decoded = Decode(Body(RunFrame{2, FullRun()}));
  ASSERT_TRUE(decoded.ok());
  const RunFrame& frame = std::get<RunFrame>(*decoded);
  const TrialRun expected = FullRun();
  EXPECT_EQ(frame.slot, 2);
  EXPECT_EQ(frame.run.trial, expected.trial);
  EXPECT_EQ(frame.run.attempt, expected.attempt);
  EXPECT_EQ(frame.run.workload, expected.workload);
  EXPECT_EQ(frame.run.batch_size, expected.batch_size);
  EXPECT_EQ(frame.run.budget_steps, expected.budget_steps);
  EXPECT_EQ(frame.run.grid, expected.grid);
  EXPECT_EQ(frame.run.metrics, expected.metrics);
  EXPECT_EQ(frame.run.Parameter("momentum", 0), 0.9);
  EXPECT_EQ(frame.run.Parameter("absent", 7), 7);
  EXPECT_EQ(frame.run.schedule, "linear");
  EXPECT_EQ(frame.run.split_intervals, expected.split_intervals);
  EXPECT_EQ(frame.run.goals, expected.goals);
  EXPECT_EQ(frame.run.training_seed, expected.training_seed);
}

TEST(FramesTest, NotANumberSurvives) {
  const auto decoded = Decode(Body(MeasuredFrame{0, 1, {std::nan("")}, 0, 0}));
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(std::isnan(std::get<MeasuredFrame>(*decoded).values[0]));
}

TEST(FramesTest, EveryTruncationIsDataLoss) {
  for (const Frame& frame : EveryFrame()) {
    const std::string body = Body(frame);
    for (size_t size = 0; size < body.size(); ++size) {
      EXPECT_EQ(Decode(body.substr(0, size)).status().code(), absl::StatusCode::kDataLoss)
          << "type " << frame.index() << ", " << size << " of " << body.size();
    }
  }
}

TEST(FramesTest, WhatDoesNotParseIsDataLoss) {
  const std::string end = Body(EndedFrame{});
  std::string kind = end;
  kind[5] = 9;  // After the type and the slot.
  std::string flag = end;
  flag[1 + 4 + 1 + 8 + 8] = 2;
  const std::string huge_count = Body(MeasuredFrame{}).substr(0, 13) + "\xff\xff\xff\xff";
  for (const std::string& body : {std::string(1, '\x06'), end + "x", kind, flag, huge_count}) {
    EXPECT_EQ(Decode(body).status().code(), absl::StatusCode::kDataLoss);
  }
}

class FrameSocketTest : public ::testing::Test {
 protected:
  FrameSocketTest() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_), 0); }
  ~FrameSocketTest() override {
    close(ends_[0]);
    close(ends_[1]);
  }
  void Send(absl::string_view bytes) {
    ASSERT_EQ(send(ends_[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  void CloseWriter() { shutdown(ends_[0], SHUT_WR); }

  int ends_[2];
};

TEST_F(FrameSocketTest, FramesArriveInOrderAndThenTheEnd) {
  for (const Frame& frame : EveryFrame()) {
    ASSERT_TRUE(WriteFrame(ends_[0], frame).ok());
  }
  CloseWriter();
  for (const Frame& frame : EveryFrame()) {
    const auto read = ReadFrame(ends_[1]);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(Encode(*read), Encode(frame));
  }
  EXPECT_EQ(ReadFrame(ends_[1]).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FrameSocketTest, AnEndInsideAFrameIsUnavailable) {
  const std::string bytes = Encode(StopFrame{1});
  Send(absl::string_view(bytes).substr(0, bytes.size() - 1));
  CloseWriter();
  EXPECT_EQ(ReadFrame(ends_[1]).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(FrameSocketTest, AnAbsurdLengthIsDataLoss) {
  Send("\xff\xff\xff\x7f");
  EXPECT_EQ(ReadFrame(ends_[1]).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameSocketTest, WritingToADeadPeerIsUnavailableWithoutASignal) {
  close(ends_[1]);
  EXPECT_EQ(WriteFrame(ends_[0], StopFrame{1}).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace stepcurve
