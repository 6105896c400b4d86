// SPDX-License-Identifier: Apache-2.0
#include "server/wire/study_to_proto.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

StudyDefinition Study() {
  StudyDefinition study;
  study.workload = {.dataset = "mnist",
                    .data = {{"size", int64_t{28}}, {"flip", true}},
                    .model = "fc_64",
                    .options = {{"scale", 0.5}, {"unit", std::string("x")}},
                    .optimizer = "momentum",
                    .variant = "v"};
  study.batch_size = 32;
  study.training_examples = 55'000;
  study.budget_steps = 1000;
  study.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 100};
  study.metrics = {"val/classification_error", "val/cross_entropy_error"};
  study.schedule = "linear";
  study.space = {
      {"learning_rate", RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog}, TimesBatchSize{0.5, 256}},
      {"momentum", FixedEntry{0.9}, {}},
      {"label_smoothing", ValuesEntry{{0, 0.1}}, TimesParameter{"momentum"}},
      {"learning_rate_decay_steps", RangeEntry{.min = 1, .max = 9, .integer = true, .count = 3}, TimesBudget{}}};
  study.sampler = SamplerKind::kGrid;
  study.split_intervals = {{"val", 1}, {"test", 4}};
  study.train_examples = 10'000;
  study.goals = {{"val/classification_error", Goal::Comparison::kLess, 0.1}};
  study.semantics = Semantics::kReached;
  study.keep = 5;
  study.no_progress_timeout = absl::Milliseconds(1500);
  study.checkpoint_every = absl::Minutes(10);
  study.checkpoint_every_steps = 7;
  return study;
}

TEST(StudyDefinitionToProtoTest, SaysAllThatAWorkerNeeds) {
  const v1::StudyDefinition proto = StudyDefinitionToProto(Study(), {.study = 1, .sweep = 2, .workload = 3});
  EXPECT_EQ(proto.study(), 1);
  EXPECT_EQ(proto.sweep(), 2);
  EXPECT_EQ(proto.workload().id(), 3);
  EXPECT_EQ(proto.workload().address(), "mnist/fc_64/momentum@v");
  EXPECT_EQ(proto.workload().data(0).integer(), 28);
  EXPECT_TRUE(proto.workload().data(1).flag());
  EXPECT_EQ(proto.workload().options(0).number(), 0.5);
  EXPECT_EQ(proto.workload().options(1).text(), "x");
  EXPECT_EQ(proto.batch_size(), 32);
  EXPECT_EQ(proto.budget_steps(), 1000);
  EXPECT_EQ(proto.grid().every(), 100);
  EXPECT_THAT(proto.metrics(), ElementsAre("val/classification_error", "val/cross_entropy_error"));
  EXPECT_THAT(proto.parameters(),
              ElementsAre("learning_rate", "momentum", "label_smoothing", "learning_rate_decay_steps"));
  EXPECT_EQ(proto.schedule(), "linear");
  EXPECT_EQ(proto.precision(), "float32");
  ASSERT_EQ(proto.splits_size(), 2);
  EXPECT_EQ(proto.splits(1).split(), "test");
  EXPECT_EQ(proto.splits(1).every(), 4);
  EXPECT_EQ(proto.train_examples(), 10'000);
  ASSERT_EQ(proto.goals_size(), 1);
  EXPECT_EQ(proto.goals(0).comparison(), v1::Goal::LESS);
  EXPECT_EQ(proto.semantics(), v1::REACHED);
  EXPECT_EQ(proto.keep(), 5);
  EXPECT_EQ(proto.no_progress_timeout().seconds(), 1);
  EXPECT_EQ(proto.no_progress_timeout().nanos(), 500'000'000);
  EXPECT_EQ(proto.checkpoint_every().seconds(), 600);
  EXPECT_EQ(proto.checkpoint_every_steps(), 7);
}

TEST(StudyToProtoTest, SaysWhatTheDefinitionSays) {
  const v1::Study proto = StudyToProto(Study(), {.study = 1, .sweep = 2, .workload = 3});
  EXPECT_EQ(proto.id(), 1);
  EXPECT_EQ(proto.evaluations(), 11);
  EXPECT_EQ(proto.sampler(), "grid");
  EXPECT_EQ(proto.space_hash(), SpaceHash(Study()));
  EXPECT_EQ(proto.training_examples(), 55'000);
  ASSERT_EQ(proto.space_size(), 4);
  EXPECT_EQ(proto.space(0).range().scale(), "log");
  EXPECT_EQ(proto.space(0).times().batch_size().at(), 256);
  EXPECT_EQ(proto.space(1).fixed(), 0.9);
  EXPECT_FALSE(proto.space(1).has_times());
  EXPECT_THAT(proto.space(2).values().values(), ElementsAre(0, 0.1));
  EXPECT_EQ(proto.space(2).times().parameter(), "momentum");
  EXPECT_TRUE(proto.space(3).range().integer());
  EXPECT_EQ(proto.space(3).range().count(), 3);
  EXPECT_TRUE(proto.space(3).times().budget());
}

TEST(SweepPlanToProtoTest, AddsStrandsUpPerStudy) {
  SweepPlan plan;
  plan.resolved = "yaml";
  plan.studies = {{Study(), "hash", {{.wanted = 3, .max_trials = 30}, {.wanted = 4, .max_trials = 40}}}};
  const v1::SweepPlan proto = SweepPlanToProto(plan);
  ASSERT_EQ(proto.studies_size(), 1);
  EXPECT_EQ(proto.studies(0).wanted(), 7);
  EXPECT_EQ(proto.studies(0).max_trials(), 70);
  EXPECT_EQ(proto.wanted(), 7);
  EXPECT_EQ(proto.max_trials(), 70);
  EXPECT_EQ(proto.resolved(), "yaml");
}

TEST(GridTest, EveryKind) {
  const v1::EvaluationGrid geometric = ToProto(EvaluationGrid{.ratio_millionths = 1'020'000, .first = 5});
  EXPECT_EQ(geometric.geometric().ratio_millionths(), 1'020'000);
  EXPECT_EQ(geometric.geometric().first(), 5);
  EXPECT_THAT(ToProto(EvaluationGrid{.kind = EvaluationGrid::Kind::kAt, .at = {1, 5}}).at().steps(), ElementsAre(1, 5));
}

TEST(EnumTest, EveryNamedValueComesBackAndNoOther) {
  for (size_t i = 0; i < kTrialStates; ++i) {
    const auto state = static_cast<TrialState>(i);
    EXPECT_EQ(FromProto(ToProto(state)), state);
    EXPECT_EQ(absl::AsciiStrToLower(v1::TrialState_Name(ToProto(state))), Name(state));
  }
  for (size_t i = 0; i < kSweepStateNames.size(); ++i) {
    EXPECT_EQ(FromProto(ToProto(static_cast<SweepState>(i))), static_cast<SweepState>(i));
  }
  EXPECT_EQ(FromProto(v1::TRIAL_STATE_UNSPECIFIED), std::nullopt);
  EXPECT_EQ(FromProto(static_cast<v1::TrialState>(8)), std::nullopt);
  EXPECT_EQ(FromProto(v1::SWEEP_STATE_UNSPECIFIED), std::nullopt);
  EXPECT_EQ(FromProto(v1::SEMANTICS_UNSPECIFIED), std::nullopt);
  EXPECT_EQ(FromProto(v1::REACHED), Semantics::kReached);
  EXPECT_EQ(ToProto(EndReason::kCancelled), v1::BY_CANCEL);
}

TEST(StateCountsTest, EachUnderItsOwnName) {
  StateCounts counts;
  for (size_t i = 0; i < kTrialStates; ++i) counts.by_state[i] = static_cast<int64_t>(i) + 1;
  const v1::StateCounts proto = ToProto(counts);
  EXPECT_EQ(proto.queued(), 1);
  EXPECT_EQ(proto.running(), 2);
  EXPECT_EQ(proto.complete(), 3);
  EXPECT_EQ(proto.infeasible(), 4);
  EXPECT_EQ(proto.stopped(), 5);
  EXPECT_EQ(proto.failed(), 6);
  EXPECT_EQ(proto.cancelled(), 7);
}

TEST(CapabilitiesTest, ThereAndBack) {
  const Capabilities can_run{
      .datasets = {{"mnist", 55'000, 5'000, 10'000, "abc"}}, .models = {"fc"}, .optimizers = {"sgd"}};
  const Capabilities back = FromProto(ToProto(can_run));
  ASSERT_EQ(back.datasets.size(), 1u);
  EXPECT_EQ(back.datasets[0].name, "mnist");
  EXPECT_EQ(back.datasets[0].val_examples, 5'000);
  EXPECT_EQ(back.datasets[0].fingerprint, "abc");
  EXPECT_EQ(back.models, can_run.models);
  EXPECT_EQ(back.optimizers, can_run.optimizers);
  const SlotClass slot{.device = "cuda", .devices = 2, .memory_bytes = 5, .threads = 3, .slots = 4, .description = "x"};
  const SlotClass slot_back = FromProto(ToProto(slot));
  EXPECT_EQ(slot_back.device, "cuda");
  EXPECT_EQ(slot_back.devices, 2);
  EXPECT_EQ(slot_back.memory_bytes, 5);
  EXPECT_EQ(slot_back.threads, 3);
  EXPECT_EQ(slot_back.slots, 4);
  EXPECT_EQ(slot_back.description, "x");
}

TEST(GoalTest, ThereAndBackOrRefused) {
  const Goal goal{"val/loss", Goal::Comparison::kGreaterOrEqual, 0.1};
  EXPECT_EQ(*GoalFromProto(ToProto(goal)), goal);
  v1::Goal proto = ToProto(goal);
  proto.set_comparison(v1::Goal::COMPARISON_UNSPECIFIED);
  EXPECT_THAT(GoalFromProto(proto), Fails(absl::StatusCode::kInvalidArgument, "no comparison"));
  proto.set_comparison(static_cast<v1::Goal::Comparison>(9));
  EXPECT_THAT(GoalFromProto(proto), Fails(absl::StatusCode::kInvalidArgument, "no comparison"));
  proto = ToProto(goal);
  proto.set_threshold(std::nan(""));
  EXPECT_THAT(GoalFromProto(proto), Fails(absl::StatusCode::kInvalidArgument, "finite"));
  proto = ToProto(goal);
  proto.set_metric("val/loss < 5");
  EXPECT_THAT(GoalFromProto(proto), HasCode(absl::StatusCode::kInvalidArgument));
  proto.set_metric("loss");
  EXPECT_THAT(GoalFromProto(proto), Fails(absl::StatusCode::kInvalidArgument, "\"loss\" is no metric"));
}

}  // namespace
}  // namespace stepcurve
