// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/assignment.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

v1::StudyDefinition Study() {
  v1::StudyDefinition study;
  study.set_study(3);
  v1::Workload& workload = *study.mutable_workload();
  workload.set_dataset("fashion_mnist");
  workload.set_model("fc_64");
  workload.set_optimizer("momentum");
  workload.set_variant("b");
  v1::Option& option = *workload.add_options();
  option.set_name("activation");
  option.set_text("tanh");
  study.set_batch_size(256);
  study.set_budget_steps(1000);
  study.mutable_grid()->mutable_geometric()->set_ratio_millionths(1'050'000);
  study.mutable_grid()->mutable_geometric()->set_first(2);
  study.add_metrics("val/classification_error");
  study.add_parameters("learning_rate");
  study.add_parameters("momentum");
  study.set_schedule("constant");
  study.set_precision("float32");
  study.add_splits()->set_split("val");
  study.mutable_splits(0)->set_every(4);
  study.set_train_examples(500);
  v1::Goal& goal = *study.add_goals();
  goal.set_metric("val/classification_error");
  goal.set_comparison(v1::Goal::LESS);
  goal.set_threshold(0.1);
  return study;
}

v1::Assignment AssignmentOf(int64_t trial) {
  v1::Assignment assignment;
  assignment.set_trial(trial);
  assignment.set_attempt(2);
  assignment.set_study(3);
  assignment.add_parameters(0.5);
  assignment.add_parameters(0.9);
  assignment.set_training_seed(0xfedcba9876543210);
  return assignment;
}

TEST(AssignmentTest, ARunHasEverythingOfItsStudyAndAssignment) {
  const auto run = TrialRunOf(Study(), AssignmentOf(11));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->trial, 11);
  EXPECT_EQ(run->attempt, 2);
  EXPECT_EQ(run->workload, (Workload{.dataset = "fashion_mnist",
                                     .model = "fc_64",
                                     .options = {{"activation", std::string("tanh")}},
                                     .optimizer = "momentum",
                                     .variant = "b"}));
  EXPECT_EQ(run->batch_size, 256);
  EXPECT_EQ(run->budget_steps, 1000);
  EXPECT_EQ(run->grid,
            (EvaluationGrid{.kind = EvaluationGrid::Kind::kGeometric, .ratio_millionths = 1'050'000, .first = 2}));
  EXPECT_EQ(run->metrics, std::vector<std::string>{"val/classification_error"});
  EXPECT_EQ(run->Parameter("learning_rate", 0), 0.5);
  EXPECT_EQ(run->Parameter("momentum", 0), 0.9);
  EXPECT_EQ(run->split_intervals, (std::vector<std::pair<std::string, int64_t>>{{"val", 4}}));
  EXPECT_EQ(run->goals, (std::vector<Goal>{{"val/classification_error", Goal::Comparison::kLess, 0.1}}));
  EXPECT_EQ(run->training_seed, 0xfedcba9876543210);
}

struct Misfit {
  std::string name;
  std::function<void(v1::StudyDefinition&)> change;
  std::string message;
};

class MisfitTest : public ::testing::TestWithParam<Misfit> {};

TEST_P(MisfitTest, WhatThisBuildDoesNotKnowIsNamed) {
  v1::StudyDefinition study = Study();
  GetParam().change(study);
  const auto run = TrialRunOf(study, AssignmentOf(11));
  EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(run.status().message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, MisfitTest,
    ::testing::Values(
        Misfit{"Grid", [](v1::StudyDefinition& study) { study.clear_grid(); }, "grid"},
        Misfit{"EveryZero", [](v1::StudyDefinition& study) { study.mutable_grid()->set_every(0); }, "grid"},
        Misfit{"Parameters", [](v1::StudyDefinition& study) { study.add_parameters("rho"); }, "3 parameters"},
        Misfit{"Option", [](v1::StudyDefinition& study) { study.mutable_workload()->add_data()->set_name("flip"); },
               "option flip"},
        Misfit{"Goal",
               [](v1::StudyDefinition& study) {
                 study.mutable_goals(0)->set_comparison(v1::Goal::COMPARISON_UNSPECIFIED);
               },
               "comparison"},
        Misfit{"Batch", [](v1::StudyDefinition& study) { study.set_batch_size(0); }, "batch size 0"}),
    [](const auto& info) { return info.param.name; });

TEST(EndTest, EachKindOfRunEndHasItsOutcome) {
  const auto end = [](RunEnd::Kind kind) {
    return EndOf({.kind = kind, .step = 9, .before_first_step = true, .message = "m"}, v1::End::Released::DRAIN);
  };
  EXPECT_TRUE(end(RunEnd::Kind::kComplete).has_complete());
  EXPECT_EQ(end(RunEnd::Kind::kDiverged).diverged().step(), 9);
  EXPECT_EQ(end(RunEnd::Kind::kStopped).released().why(), v1::End::Released::DRAIN);
  EXPECT_EQ(end(RunEnd::Kind::kTrialError).failure().kind(), v1::End::Failure::TRIAL);
  EXPECT_TRUE(end(RunEnd::Kind::kTrialError).failure().before_first_step());
  EXPECT_EQ(end(RunEnd::Kind::kWorkerError).failure().kind(), v1::End::Failure::WORKER);
}

TEST(EndTest, MessagesAreShortAndPrintable) {
  const v1::End end = FailedEnd(v1::End::Failure::TRIAL, "bad \xff\n byte" + std::string(5000, 'x'));
  EXPECT_EQ(end.failure().message().size(), 2000U);
  EXPECT_THAT(end.failure().message(), ::testing::StartsWith("bad    byte"));
}

}  // namespace
}  // namespace stepcurve
