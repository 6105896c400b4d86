// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/api/api_fixture.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class CurveServiceTest : public ApiTest {
 protected:
  v1::GetCurveResponse Get(const v1::GetCurveRequest& request) {
    grpc::ClientContext context;
    v1::GetCurveResponse response;
    EXPECT_EQ(Text(curve_stub_->GetCurve(&context, request, &response)), "OK");
    return response;
  }
  std::string Failure(const v1::GetCurveRequest& request) {
    grpc::ClientContext context;
    v1::GetCurveResponse response;
    return Text(curve_stub_->GetCurve(&context, request, &response));
  }
  // The points of the first curve as "BATCH STATUS STEPS by NUMBER".
  std::vector<std::string> Points(const v1::GetCurveRequest& request) {
    std::vector<std::string> points;
    const v1::GetCurveResponse response = Get(request);
    if (response.curves().empty()) return points;
    for (const v1::CurvePoint& point : response.curves(0).points()) {
      points.push_back(absl::StrCat(point.batch_size(), " ", v1::CurvePoint::Status_Name(point.status())));
      if (point.status() == v1::CurvePoint::REACHED) {
        absl::StrAppend(&points.back(), " ", point.steps(), " by ", point.number());
      }
    }
    return points;
  }
  static std::vector<std::string> Codes(const v1::CurvePoint& point) {
    std::vector<std::string> codes;
    for (const v1::Warning& warning : point.warnings()) codes.push_back(warning.code());
    return codes;
  }
};

TEST_F(CurveServiceTest, EveryBatchSizeHasAPointWhetherItWasReachedOrNot) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  const int64_t small = data_->Study(sweep, QuadraticStudy(8), 2);
  const int64_t middle = data_->Study(sweep, QuadraticStudy(64), 1);
  data_->Study(sweep, QuadraticStudy(512), 1);
  data_->Trial(small, Losses({0, 100, 110}, {1, 0.5, 0.09}));
  data_->Trial(small, Losses({0, 100, 110}, {1, 0.09, 0.05}));
  data_->Trial(middle, Losses({0, 100}, {1, 0.5}));
  EXPECT_THAT(Points(CurveRequest()), ElementsAre("8 REACHED 100 by 2", "64 NOT_REACHED", "512 NO_TRIALS"));
}

TEST_F(CurveServiceTest, APointTellsAllAboutItsWinner) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  StudyDefinition study = QuadraticStudy(8);
  study.training_examples = 1600;
  const int64_t id = data_->Study(sweep, study, 2);
  MeasuredTrial first = Losses({0, 100, 110}, {1, 0.5, 0.09});
  first.parameters = {0.9};
  data_->Trial(id, first);
  MeasuredTrial second = Losses({0, 90, 100, 110}, {1, 0.5, 0.08, 0.2});
  second.parameters = {0.95};
  const int64_t winner = data_->Trial(id, second);
  const v1::GetCurveResponse response = Get(CurveRequest());
  const v1::Curve& curve = response.curves(0);
  EXPECT_EQ(curve.workload(), kQuadratic);
  EXPECT_THAT(curve.sweeps(), ElementsAre("one"));
  EXPECT_EQ(curve.semantics(), v1::PUBLISHED);
  EXPECT_EQ(curve.sweep_state(), v1::DONE);
  EXPECT_EQ(curve.grid(), DescribeGrid(study.grid));
  EXPECT_EQ(curve.schedule(), "constant");
  EXPECT_EQ(curve.space(), SpaceHash(study).substr(0, 4) + " (1 dim)");
  EXPECT_EQ(curve.training_examples(), 1600);
  EXPECT_THAT(curve.parameters(), ElementsAre("learning_rate"));
  const v1::CurvePoint& point = curve.points(0);
  EXPECT_EQ(point.certainty(), v1::CurvePoint::FINAL);
  EXPECT_EQ(point.steps(), 100);
  EXPECT_EQ(point.steps_at_least(), 100);
  EXPECT_EQ(point.previous_step(), 90);
  EXPECT_EQ(point.trial(), winner);
  EXPECT_EQ(point.value(), 0.08);
  EXPECT_EQ(point.test_value(), 1.08);
  EXPECT_EQ(point.parameters(0).name(), "learning_rate");
  EXPECT_EQ(point.parameters(0).value(), 0.95);
  EXPECT_THAT(point.rank_steps(), ElementsAre(110));
  EXPECT_EQ(point.counts().complete(), 2);
  EXPECT_THAT(point.studies(), ElementsAre(id));
  EXPECT_EQ(point.results_version(), 2);
  EXPECT_EQ(point.pool(), 2);
  EXPECT_EQ(point.wanted(), 2);
  EXPECT_EQ(point.examples(), 800);
  EXPECT_EQ(point.epochs(), 0.5);
  EXPECT_THAT(Codes(point), ElementsAre("edge:learning_rate:high", "once"));
}

TEST_F(CurveServiceTest, EdgesAreJudgedWhereTheCoordinateWasDrawn) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 1);
  MeasuredTrial trial = Losses({0, 490, 500, 510}, {1, 0.5, 0.08, 0.07});
  trial.parameters = {1.6};  // Multiplied.
  trial.coordinates = {0.1};
  data_->Trial(study, trial);
  EXPECT_THAT(Codes(Get(CurveRequest()).curves(0).points(0)), IsEmpty());
}

TEST_F(CurveServiceTest, ATrialThatCrossesAndThenDivergesCountsOnlyWhereReachingCounts) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 2);
  data_->Trial(study, Losses({0, 50, 60}, {1, 0.05, 3}, TrialState::kInfeasible));
  data_->Trial(study, Losses({0, 70, 80}, {1, 0.05, 3}, TrialState::kStopped));
  data_->Trial(study, Losses({0, 90, 100}, {1, 0.5, 0.05}));
  data_->Trial(study, Losses({0, 40}, {1, 0.05}, TrialState::kFailed));
  v1::GetCurveRequest request = CurveRequest();
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 100 by 3"));
  request.set_semantics(v1::PUBLISHED);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 100 by 3"));
  request.set_semantics(v1::REACHED);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 50 by 1"));
  request.set_semantics(v1::PUBLISHED);
  request.set_include_infeasible(true);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 50 by 1"));
  request.set_include_incomplete(true);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 40 by 4"));
}

TEST_F(CurveServiceTest, TheSweepsOwnSemanticsAreTheDefault) {
  const int64_t sweep = data_->Sweep({.name = "one", .semantics = Semantics::kReached});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 2);
  data_->Trial(study, Losses({0, 50, 60}, {1, 0.05, 3}, TrialState::kInfeasible));
  EXPECT_THAT(Points(CurveRequest()), ElementsAre("8 REACHED 50 by 1"));
}

TEST_F(CurveServiceTest, AGoalMetExactlyIsReachedOnlyByAnInclusiveComparison) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  data_->Trial(data_->Study(sweep, QuadraticStudy(8), 1), Losses({0, 10, 20}, {1, 500.0 / 5000, 0.09}));
  EXPECT_THAT(Points(CurveRequest("val/loss < 0.1")), ElementsAre("8 REACHED 20 by 1"));
  EXPECT_THAT(Points(CurveRequest("val/loss <= 0.1")), ElementsAre("8 REACHED 10 by 1"));
  EXPECT_THAT(Points(CurveRequest("val/loss >= 1")), ElementsAre("8 REACHED 0 by 1"));
  EXPECT_THAT(Points(CurveRequest("val/loss > 1")), ElementsAre("8 NOT_REACHED"));
}

TEST_F(CurveServiceTest, TiesGoToTheLowerNumberAndNanToNobody) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 3);
  data_->Trial(study, Losses({0, 10, 20}, {kNan, kNan, 0.05}));
  data_->Trial(study, Losses({0, 10, 20}, {1, 0.05, kNan}));
  data_->Trial(study, Losses({0, 10, 20}, {1, 0.01, 0.01}));
  const v1::GetCurveResponse response = Get(CurveRequest());
  const v1::CurvePoint& point = response.curves(0).points(0);
  EXPECT_EQ(point.number(), 2);
  EXPECT_EQ(point.value(), 0.05);
  EXPECT_THAT(point.rank_steps(), ElementsAre(10, 20));
}

TEST_F(CurveServiceTest, FirstTrialsTakesTheLowestNumbersOrSaysTooFew) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 3);
  data_->Trial(study, Losses({0, 30}, {1, 0.05}));
  data_->Trial(study, Losses({0, 5}, {1, 0.05}, TrialState::kInfeasible));
  data_->Trial(study, Losses({0, 20}, {1, 0.05}));
  data_->Trial(study, Losses({0, 10}, {1, 0.05}));
  v1::GetCurveRequest request = CurveRequest();
  request.set_first_trials(2);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 20 by 3"));
  request.set_first_trials(4);
  EXPECT_THAT(Points(request), ElementsAre("8 TOO_FEW"));
  const v1::GetCurveResponse response = Get(request);
  EXPECT_EQ(response.curves(0).points(0).pool(), 3);
  EXPECT_EQ(response.curves(0).first_trials(), 4);
}

TEST_F(CurveServiceTest, APointIsProvisionalWhileAnythingOfItMayRun) {
  const int64_t sweep = data_->Sweep({.name = "one", .state = SweepState::kActive});
  const int64_t study = data_->Study(sweep, QuadraticStudy(8), 3);
  data_->Trial(study, Losses({0, 30}, {1, 0.05}));
  data_->Trial(study, Losses({0, 20}, {1, 0.05}, TrialState::kRunning));
  data_->Trial(study, {.state = TrialState::kQueued});
  v1::GetCurveRequest request = CurveRequest();
  const v1::GetCurveResponse response = Get(request);
  const v1::CurvePoint& point = response.curves(0).points(0);
  EXPECT_EQ(point.certainty(), v1::CurvePoint::PROVISIONAL);
  EXPECT_EQ(point.steps(), 30);
  EXPECT_EQ(point.steps_at_least(), 0);
  EXPECT_EQ(point.pool(), 1);
  request.set_include_running(true);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 20 by 2"));
  Sql("UPDATE sweeps SET state = 'cancelled', end_time = now()");
  EXPECT_EQ(Get(CurveRequest()).curves(0).points(0).certainty(), v1::CurvePoint::FINAL);
}

TEST_F(CurveServiceTest, SeveralGoalsGiveSeveralCurves) {
  const int64_t sweep = data_->Sweep({.name = "one"});
  data_->Trial(data_->Study(sweep, QuadraticStudy(8), 1), Losses({0, 10, 20}, {1, 0.5, 0.05}));
  v1::GetCurveRequest request = CurveRequest("val/loss < 0.6");
  *request.add_goals() = GoalOf("val/loss < 0.1");
  *request.add_goals() = GoalOf("test/loss > 1.9");
  const v1::GetCurveResponse response = Get(request);
  ASSERT_EQ(response.curves_size(), 3);
  EXPECT_EQ(response.curves(0).points(0).steps(), 10);
  EXPECT_EQ(response.curves(1).points(0).steps(), 20);
  EXPECT_EQ(response.curves(2).points(0).steps(), 0);
  EXPECT_EQ(response.curves(2).goal().metric(), "test/loss");
}

class SeveralSweepsTest : public CurveServiceTest {
 protected:
  void SetUp() override {
    CurveServiceTest::SetUp();
    const int64_t old = data_->Sweep({.name = "old"});
    data_->Trial(data_->Study(old, QuadraticStudy(8), 1), Losses({0, 30}, {1, 0.05}));
    young_ = data_->Sweep({.name = "young"});
    data_->Trial(data_->Study(young_, QuadraticStudy(8), 1), Losses({0, 20}, {1, 0.05}));
    data_->Trial(data_->Study(young_, QuadraticStudy(16), 1), Losses({0, 10}, {1, 0.05}));
  }
  int64_t young_ = 0;
};

TEST_F(SeveralSweepsTest, AreNeverPooledSilently) {
  EXPECT_THAT(Failure(CurveRequest()), AllOf(StartsWith("FAILED_PRECONDITION"), HasSubstr("young, old")));
}

TEST_F(SeveralSweepsTest, AnswerInTheOrderAskedFor) {
  v1::GetCurveRequest request = CurveRequest();
  request.add_sweeps("old");
  request.add_sweeps(absl::StrCat(young_));
  const v1::GetCurveResponse response = Get(request);
  ASSERT_EQ(response.curves_size(), 2);
  EXPECT_THAT(response.curves(0).sweeps(), ElementsAre("old"));
  EXPECT_EQ(response.curves(0).points_size(), 1);
  EXPECT_THAT(response.curves(1).sweeps(), ElementsAre("young"));
  EXPECT_EQ(response.curves(1).points_size(), 2);
}

TEST_F(SeveralSweepsTest, ArePooledOnRequestAndFlaggedWhereTheirSpacesDiffer) {
  v1::GetCurveRequest request = CurveRequest();
  request.set_all_sweeps(true);
  EXPECT_EQ(Get(request).curves_size(), 2);
  request.set_pool(true);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 20 by 1", "16 REACHED 10 by 1"));
  v1::GetCurveResponse response = Get(request);
  EXPECT_THAT(response.curves(0).sweeps(), testing::UnorderedElementsAre("old", "young"));
  EXPECT_EQ(response.curves(0).points(0).studies_size(), 2);
  EXPECT_THAT(response.curves(0).points(0).rank_steps(), ElementsAre(30));
  EXPECT_THAT(Codes(response.curves(0).points(0)), testing::Not(testing::Contains("unequal_space")));
  Sql("UPDATE studies SET space_hash = 'feed' WHERE batch_size = 16");
  response = Get(request);
  EXPECT_EQ(response.curves(0).space(), "");
  EXPECT_THAT(Codes(response.curves(0).points(0)), testing::Contains("unequal_space"));
}

TEST_F(SeveralSweepsTest, ChildrenAnswerOnlyByName) {
  Sql("UPDATE sweeps SET parent_id = (SELECT id FROM sweeps WHERE name = 'old') WHERE name = 'young'");
  EXPECT_THAT(Points(CurveRequest()), ElementsAre("8 REACHED 30 by 1"));
  v1::GetCurveRequest request = CurveRequest();
  request.add_sweeps("young");
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 20 by 1", "16 REACHED 10 by 1"));
}

TEST_F(SeveralSweepsTest, OfDifferentSemanticsArePooledOnlyUnderOneThatIsNamed) {
  Sql("UPDATE sweeps SET semantics = 'reached' WHERE name = 'young'");
  v1::GetCurveRequest request = CurveRequest();
  request.set_all_sweeps(true);
  request.set_pool(true);
  EXPECT_THAT(Failure(request), StartsWith("INVALID_ARGUMENT: semantics: "));
  request.set_semantics(v1::REACHED);
  EXPECT_THAT(Points(request), ElementsAre("8 REACHED 20 by 1", "16 REACHED 10 by 1"));
}

struct BadCase {
  std::string name;
  std::function<void(v1::GetCurveRequest&)> spoil;
  std::string failure;
};

class BadCurveRequestTest : public SeveralSweepsTest, public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadCurveRequestTest, SaysWhatToChange) {
  v1::GetCurveRequest request = CurveRequest();
  request.add_sweeps("young");
  GetParam().spoil(request);
  EXPECT_THAT(Failure(request), StartsWith(GetParam().failure));
}

using Request = v1::GetCurveRequest;
INSTANTIATE_TEST_SUITE_P(
    All, BadCurveRequestTest,
    ::testing::Values(
        BadCase{"NoWorkload", [](Request& r) { r.clear_workload(); }, "INVALID_ARGUMENT: workload: is empty"},
        BadCase{"ControlCharacter", [](Request& r) { r.set_workload("a\nb"); }, "INVALID_ARGUMENT: workload: "},
        BadCase{"LongWorkload", [](Request& r) { r.set_workload(std::string(600, 'a')); },
                "INVALID_ARGUMENT: workload: is 600 bytes"},
        BadCase{"UnknownWorkload", [](Request& r) { r.set_workload("quadratic/noisy_quadratic_100/sgdd"); },
                "NOT_FOUND: no sweep has workload quadratic/noisy_quadratic_100/sgdd; nearest: "
                "quadratic/noisy_quadratic_100/sgd"},
        BadCase{"UnknownSweep", [](Request& r) { r.add_sweeps("missing"); }, "NOT_FOUND: no sweep missing"},
        BadCase{"NoGoal", [](Request& r) { r.clear_goals(); }, "INVALID_ARGUMENT: goals: has 0 entries"},
        BadCase{"ManyGoals",
                [](Request& r) {
                  while (r.goals_size() < 65) *r.add_goals() = r.goals(0);
                },
                "INVALID_ARGUMENT: goals: has 65 entries"},
        BadCase{"NoComparison", [](Request& r) { r.mutable_goals(0)->clear_comparison(); },
                "INVALID_ARGUMENT: goals[0]"},
        BadCase{"UnknownComparison",
                [](Request& r) { r.mutable_goals(0)->set_comparison(static_cast<v1::Goal::Comparison>(9)); },
                "INVALID_ARGUMENT: goals[0]"},
        BadCase{"NanThreshold", [](Request& r) { r.mutable_goals(0)->set_threshold(kNan); },
                "INVALID_ARGUMENT: goals[0]"},
        BadCase{"NoMetric", [](Request& r) { r.mutable_goals(0)->clear_metric(); }, "INVALID_ARGUMENT: goals[0]"},
        BadCase{"UnknownMetric", [](Request& r) { r.mutable_goals(0)->set_metric("val/error"); },
                "INVALID_ARGUMENT: goals[0].metric: is val/error"},
        BadCase{"UnknownSemantics", [](Request& r) { r.set_semantics(static_cast<v1::Semantics>(7)); },
                "INVALID_ARGUMENT: semantics: is 7"},
        BadCase{"NegativeFirst", [](Request& r) { r.set_first_trials(-1); }, "INVALID_ARGUMENT: first_trials: is -1"},
        BadCase{"NamedAndAll", [](Request& r) { r.set_all_sweeps(true); }, "INVALID_ARGUMENT: all_sweeps: "}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
