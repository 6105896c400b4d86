// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/wire/study_to_proto.h"
#include "tests/server/api/api_fixture.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Sweep "one": at 8 four ended trials, at 16 one running and one queued.
class TrialServiceTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    sweep_ = data_->Sweep({.name = "one", .state = SweepState::kActive});
    small_ = data_->Study(sweep_, QuadraticStudy(8));
    large_ = data_->Study(sweep_, QuadraticStudy(16));
    Add(small_, Losses({0, 10, 20}, {1, 0.5, 0.05}), 0.3);
    Add(small_, Losses({0, 10}, {1, 0.01}), 0.2);
    Add(small_, Losses({0, 10}, {kNan, kNan}, TrialState::kInfeasible), 0.9);
    Add(small_, Losses({0, 10}, {1, 0.02}, TrialState::kFailed), 0.1);
    running_ = Add(large_, Losses({0, 10}, {1, 0.25}, TrialState::kRunning), 0.5);
    Add(large_, {.state = TrialState::kQueued}, 0.6);
  }
  int64_t Add(int64_t study, MeasuredTrial trial, double rate) {
    trial.parameters = {rate};
    return data_->Trial(study, trial);
  }
  std::string List(const v1::ListTrialsRequest& request, v1::ListTrialsResponse* response) {
    grpc::ClientContext context;
    return Text(sweep_stub_->ListTrials(&context, request, response));
  }
  static v1::ListTrialsRequest Request() {
    v1::ListTrialsRequest request;
    request.set_sweep("one");
    return request;
  }
  // All pages of a list as "BATCH/NUMBER".
  std::vector<std::string> All(v1::ListTrialsRequest request) {
    std::vector<std::string> trials;
    do {
      v1::ListTrialsResponse response;
      const std::string text = List(request, &response);
      if (text != "OK") return {text};
      for (const v1::Trial& trial : response.trials()) {
        trials.push_back(absl::StrCat(trial.batch_size(), "/", trial.number()));
      }
      request.set_page_token(response.next_page_token());
    } while (!request.page_token().empty());
    return trials;
  }
  std::string Get(const std::string& trial, const std::string& sweep, v1::GetTrialResponse* response,
                  const std::string& workload = "") {
    grpc::ClientContext context;
    v1::GetTrialRequest request;
    request.set_trial(trial);
    request.set_sweep(sweep);
    request.set_workload(workload);
    return Text(sweep_stub_->GetTrial(&context, request, response));
  }

  int64_t sweep_ = 0, small_ = 0, large_ = 0, running_ = 0;
};

TEST_F(TrialServiceTest, EveryPageSizeGivesTheSameList) {
  for (int size = 1; size <= 7; ++size) {
    v1::ListTrialsRequest request = Request();
    request.set_page_size(size);
    EXPECT_THAT(All(request), ElementsAre("8/1", "8/2", "8/3", "8/4", "16/1", "16/2")) << size;
  }
}

TEST_F(TrialServiceTest, ListsAreNarrowedByWorkloadBatchSizeAndState) {
  v1::ListTrialsRequest request = Request();
  request.set_workload(kQuadratic);
  request.set_batch_size(16);
  EXPECT_THAT(All(request), ElementsAre("16/1", "16/2"));
  request.add_states(v1::QUEUED);
  EXPECT_THAT(All(request), ElementsAre("16/2"));
  request = Request();
  request.add_states(v1::INFEASIBLE);
  request.add_states(v1::RUNNING);
  EXPECT_THAT(All(request), ElementsAre("8/3", "16/1"));
}

TEST_F(TrialServiceTest, ACancelledSweepListsItsOpenTrialsAsCancelled) {
  Sql("UPDATE sweeps SET state = 'cancelled', end_time = now()");
  v1::ListTrialsRequest request = Request();
  request.add_states(v1::CANCELLED);
  v1::ListTrialsResponse response;
  ASSERT_EQ(List(request, &response), "OK");
  ASSERT_EQ(response.trials_size(), 2);
  EXPECT_EQ(response.trials(0).state(), v1::CANCELLED);
  EXPECT_EQ(response.trials(0).end_reason(), v1::BY_CANCEL);
  request.clear_states();
  request.add_states(v1::QUEUED);
  EXPECT_THAT(All(request), IsEmpty());
}

TEST_F(TrialServiceTest, TrialsTellBestValuesAndStepsToTheGoal) {
  v1::ListTrialsRequest request = Request();
  *request.mutable_goal() = GoalOf("val/loss < 0.1");
  v1::ListTrialsResponse response;
  ASSERT_EQ(List(request, &response), "OK");
  const v1::Trial& first = response.trials(0);
  EXPECT_EQ(first.steps_to_goal(), 20);
  ASSERT_EQ(first.best_size(), 2);
  EXPECT_EQ(first.best(0).metric(), "val/loss");
  EXPECT_EQ(first.best(0).value(), 0.05);
  EXPECT_EQ(first.best(0).step(), 20);
  EXPECT_EQ(first.parameters(0).value(), 0.3);
  EXPECT_EQ(first.workload(), kQuadratic);
  EXPECT_EQ(first.budget_steps(), 1000);
  const v1::Trial& blind = response.trials(2);
  EXPECT_EQ(blind.state(), v1::INFEASIBLE);
  EXPECT_EQ(blind.diverged_step(), 11);
  EXPECT_FALSE(first.has_diverged_step());
  EXPECT_FALSE(blind.has_steps_to_goal());
  EXPECT_THAT(blind.best(), IsEmpty());
}

TEST_F(TrialServiceTest, OrdersPutWhatHasNoKeyLast) {
  v1::ListTrialsRequest request = Request();
  *request.mutable_goal() = GoalOf("val/loss < 0.1");
  for (int size = 1; size <= 6; ++size) {
    request.set_page_size(size);
    request.set_order_by("steps");
    request.set_descending(false);
    EXPECT_THAT(All(request), ElementsAre("8/2", "8/4", "8/1", "8/3", "16/1", "16/2"));
    request.set_descending(true);
    EXPECT_THAT(All(request), ElementsAre("8/1", "8/2", "8/4", "8/3", "16/1", "16/2"));
    request.set_order_by("value");
    request.set_descending(false);
    EXPECT_THAT(All(request), ElementsAre("8/2", "8/4", "8/1", "8/3", "16/1", "16/2"));
    request.set_order_by("learning_rate");
    EXPECT_THAT(All(request), ElementsAre("8/4", "8/2", "8/1", "16/1", "16/2", "8/3"));
  }
}

TEST_F(TrialServiceTest, APageTokenIsGoodForItsListAlone) {
  v1::ListTrialsRequest request = Request();
  request.set_page_size(2);
  v1::ListTrialsResponse response;
  ASSERT_EQ(List(request, &response), "OK");
  request.set_page_token(response.next_page_token());
  request.set_page_size(3);  // May differ from page to page.
  EXPECT_THAT(All(request), ElementsAre("8/3", "8/4", "16/1", "16/2"));
  request.set_batch_size(8);
  EXPECT_THAT(List(request, &response), StartsWith("INVALID_ARGUMENT: page_token: "));
  request.clear_batch_size();
  request.set_order_by("learning_rate");
  EXPECT_THAT(List(request, &response), StartsWith("INVALID_ARGUMENT: page_token: "));
}

TEST_F(TrialServiceTest, TheSweepAsAWholeIsOrderedOnlyWhileItIsSmall) {
  Sql("ALTER TABLE strands DISABLE TRIGGER ALL; UPDATE strands SET created = 10000, max_trials = 10000, granted = 0,"
      " queued = 10000 - complete - infeasible - failed - running");
  v1::ListTrialsRequest request = Request();
  request.set_order_by("learning_rate");
  v1::ListTrialsResponse response;
  EXPECT_THAT(List(request, &response), StartsWith("INVALID_ARGUMENT: order_by: is learning_rate over 20000 trials"));
  request.set_batch_size(8);
  EXPECT_EQ(List(request, &response), "OK");
}

TEST_F(TrialServiceTest, OneTrialComesWithItsAttempts) {
  Sql(absl::StrCat(
      "INSERT INTO past_attempts (trial_id, attempt, session_id, slot_class, base_step, last_step, start_time,"
      " outcome, log_tail) SELECT id, 1, session_id, 0, -1, 10, now(), 'lost', '\\x627965ff' FROM trials WHERE id = ",
      running_, "; UPDATE trials SET attempt = 2, base_step = NULL, slot_class = 1 WHERE id = ", running_,
      "; UPDATE sessions SET slot_classes = '[{\"device\": \"cuda\", \"threads\": 1}, {\"device\": \"cpu\","
      " \"threads\": 2}]'"));
  v1::GetTrialResponse response;
  ASSERT_EQ(Get(absl::StrCat(running_), "", &response), "OK");
  const v1::Trial& trial = response.trial();
  EXPECT_EQ(trial.state(), v1::RUNNING);
  EXPECT_EQ(trial.attempt(), 2);
  EXPECT_EQ(trial.batch_size(), 16);
  ASSERT_EQ(trial.attempts_size(), 2);
  EXPECT_EQ(trial.attempts(0).outcome(), "lost");
  EXPECT_EQ(trial.attempts(0).worker(), "node-1");
  EXPECT_EQ(trial.attempts(0).device(), "cuda");
  EXPECT_EQ(trial.attempts(0).log_tail(), "bye\xff") << "it need not be UTF-8";
  EXPECT_TRUE(trial.attempts(0).has_end_time());
  EXPECT_EQ(trial.attempts(1).attempt(), 2);
  EXPECT_EQ(trial.attempts(1).outcome(), "running");
  EXPECT_EQ(trial.attempts(1).device(), "cpu");
  EXPECT_EQ(trial.attempts(1).threads(), 2);
  EXPECT_EQ(trial.attempts(1).last_step(), -1) << "it has not started: what is stored is of the first";
  EXPECT_FALSE(trial.attempts(1).has_end_time());
}

TEST_F(TrialServiceTest, ARunningTrialTellsItsBestSoFar) {
  v1::GetTrialResponse response;
  ASSERT_EQ(Get("16/1", "one", &response), "OK");
  EXPECT_EQ(response.trial().id(), running_);
  ASSERT_EQ(response.trial().best_size(), 2);
  EXPECT_EQ(response.trial().best(0).value(), 0.25);
}

TEST_F(TrialServiceTest, BadTrialNamesSayWhatATrialIsCalled) {
  v1::GetTrialResponse response;
  for (const std::string& text :
       {std::string("x"), std::string("-1"), std::string("0"), std::string("+7"), std::string("8/"),
        std::string("8/1/2"), std::string("8/0"), std::string("99999999999999999999"), std::string("1 ")}) {
    EXPECT_THAT(Get(text, "one", &response), StartsWith("INVALID_ARGUMENT: trial: is \"")) << text;
  }
  EXPECT_THAT(Get("", "one", &response), StartsWith("INVALID_ARGUMENT: trial: is empty"));
  EXPECT_THAT(Get("8/1", "", &response), StartsWith("INVALID_ARGUMENT: sweep: is empty"));
  EXPECT_THAT(Get("123456", "", &response), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Get("8/1", "missing", &response), StartsWith("NOT_FOUND: "));
  EXPECT_THAT(Get("9/1", "one", &response), StartsWith("NOT_FOUND: sweep one has no batch size 9; it has: 8, 16"));
  EXPECT_THAT(Get("8/5", "one", &response), StartsWith("NOT_FOUND: sweep one has no trial 8/5"));
  EXPECT_THAT(Get("8/1", "one", &response, "a/b/c"), StartsWith("NOT_FOUND: sweep one has no workload a/b/c"));
  data_->Sweep({.name = "two"});
  EXPECT_THAT(Get(absl::StrCat(running_), "two", &response), StartsWith("NOT_FOUND: trial "));
  StudyDefinition other = QuadraticStudy(8);
  other.workload.optimizer = "momentum";
  data_->Study(sweep_, other);
  EXPECT_THAT(Get("8/1", "one", &response), StartsWith("INVALID_ARGUMENT: workload: is empty; sweep one has several"));
  EXPECT_EQ(Get("8/1", "one", &response, kQuadratic), "OK");
}

struct BadList {
  std::string name;
  std::function<void(v1::ListTrialsRequest&)> spoil;
  std::string failure;
};

class BadTrialListTest : public TrialServiceTest, public ::testing::WithParamInterface<BadList> {};

TEST_P(BadTrialListTest, SaysWhatToChange) {
  v1::ListTrialsRequest request = Request();
  GetParam().spoil(request);
  v1::ListTrialsResponse response;
  EXPECT_THAT(List(request, &response), StartsWith(GetParam().failure));
}

using Bad = v1::ListTrialsRequest;
INSTANTIATE_TEST_SUITE_P(
    All, BadTrialListTest,
    ::testing::Values(
        BadList{"NoSweep", [](Bad& r) { r.clear_sweep(); }, "INVALID_ARGUMENT: sweep: is empty"},
        BadList{"UnknownSweep", [](Bad& r) { r.set_sweep("missing"); }, "NOT_FOUND: "},
        BadList{"UnknownWorkload", [](Bad& r) { r.set_workload("a/b/c"); }, "NOT_FOUND: sweep one has no workload"},
        BadList{"UnknownBatchSize", [](Bad& r) { r.set_batch_size(9); }, "NOT_FOUND: sweep one has no batch size 9"},
        BadList{"NegativeBatchSize", [](Bad& r) { r.set_batch_size(-1); }, "INVALID_ARGUMENT: batch_size: is -1"},
        BadList{"UnknownState", [](Bad& r) { r.add_states(static_cast<v1::TrialState>(42)); },
                "INVALID_ARGUMENT: states[0]: is 42"},
        BadList{"UnspecifiedState", [](Bad& r) { r.add_states(v1::TRIAL_STATE_UNSPECIFIED); },
                "INVALID_ARGUMENT: states[0]: is 0"},
        BadList{"LargePage", [](Bad& r) { r.set_page_size(1001); }, "INVALID_ARGUMENT: page_size: is 1001"},
        BadList{"NegativePage", [](Bad& r) { r.set_page_size(-5); }, "INVALID_ARGUMENT: page_size: is -5"},
        BadList{"MadeUpToken", [](Bad& r) { r.set_page_token("abc"); }, "INVALID_ARGUMENT: page_token: "},
        BadList{"GoalOfNoMetric", [](Bad& r) { *r.mutable_goal() = ToProto(*ParseGoal("val/error < 1")); },
                "INVALID_ARGUMENT: goal.metric: is val/error"},
        BadList{"GoalWithoutComparison", [](Bad& r) { r.mutable_goal()->set_metric("val/loss"); },
                "INVALID_ARGUMENT: goal"},
        BadList{"UnknownOrder", [](Bad& r) { r.set_order_by("beta"); }, "INVALID_ARGUMENT: order_by: is \"beta\""},
        BadList{"StepsWithoutGoal", [](Bad& r) { r.set_order_by("steps"); },
                "INVALID_ARGUMENT: order_by: is steps, which needs a goal"},
        BadList{"DescendingWithoutOrder", [](Bad& r) { r.set_descending(true); }, "INVALID_ARGUMENT: descending: "}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
