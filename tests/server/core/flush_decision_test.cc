// SPDX-License-Identifier: Apache-2.0
#include "server/core/flush_decision.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kTrial = 7;
constexpr int64_t kBudget = 100;
constexpr StudyRules kRules = {.metrics = 2, .budget_steps = kBudget};
constexpr RetryCaps kCaps = {.crashes = 3, .losses = 20};

// Attempt 2 of a running trial, nothing stored.
TrialSnapshot Running(std::optional<int64_t> base_step = -1, int64_t last_step = -1) {
  return {.trial = kTrial,
          .study = 1,
          .strand = 1,
          .attempt = 2,
          .session = 5,
          .state = TrialState::kRunning,
          .base_step = base_step,
          .last_step = last_step};
}

TrialSnapshot Crashed(int32_t crashes) {
  TrialSnapshot trial = Running();
  trial.crashes = crashes;
  return trial;
}

TrialSnapshot Over(TrialState state, EndReason reason, int64_t attempt = 2) {
  TrialSnapshot trial = Running(-1, 40);
  trial.attempt = attempt;
  trial.session = 0;
  trial.state = state;
  trial.end_reason = reason;
  return trial;
}

TrialSnapshot Requeued() {
  TrialSnapshot trial = Running(std::nullopt, 40);
  trial.session = 0;
  trial.state = TrialState::kQueued;
  return trial;
}

AttemptEvents Points(std::vector<int64_t> steps, int64_t attempt = 2) {
  AttemptEvents events{.trial = kTrial, .attempt = attempt, .session = 5};
  events.values.assign(2 * steps.size(), 0.5);
  events.steps = std::move(steps);
  return events;
}

AttemptEvents Start() {
  AttemptEvents events = Points({});
  events.base_step = -1;
  return events;
}

template <typename Outcome>
AttemptEvents Ends(Outcome outcome, int64_t last_step, std::vector<int64_t> steps = {}, int64_t attempt = 2) {
  AttemptEvents events = Points(std::move(steps), attempt);
  events.ending = Ending{.last_step = last_step, .outcome = std::move(outcome)};
  return events;
}

absl::StatusOr<FlushDecision> Decide(const std::vector<AttemptEvents>& batch, const TrialSnapshot& trial) {
  return DecideFlush(
      batch, {{trial.trial, trial}}, [](int64_t) { return kRules; }, kCaps);
}

struct Expected {
  Verdict verdict;
  int64_t persisted;
  TrialState state;
  // Of the write; none where the trial does not change.
  int64_t last_step = -1;
  size_t first_new = 0;
  const char* outcome = "";
};

struct Case {
  const char* name;
  TrialSnapshot trial;
  AttemptEvents events;
  Expected expected;
  bool writes = true;
};

constexpr Verdict kHeld = Verdict::kHeld, kEnded = Verdict::kEnded, kLost = Verdict::kLost;
constexpr TrialState kQueued = TrialState::kQueued, kRunning = TrialState::kRunning, kComplete = TrialState::kComplete,
                     kInfeasible = TrialState::kInfeasible, kFailed = TrialState::kFailed,
                     kCancelled = TrialState::kCancelled;

class FlushDecisionTest : public ::testing::TestWithParam<Case> {};

TEST_P(FlushDecisionTest, AnswersAndWrites) {
  const Case& c = GetParam();
  const auto decision = Decide({c.events}, c.trial);
  ASSERT_THAT(decision, IsOk());
  ASSERT_THAT(decision->standings, SizeIs(1));
  const Standing& standing = decision->standings[0];
  EXPECT_EQ(standing.trial, kTrial);
  EXPECT_EQ(standing.attempt, c.events.attempt);
  EXPECT_EQ(standing.verdict, c.expected.verdict);
  EXPECT_EQ(standing.persisted_step, c.expected.persisted);
  EXPECT_EQ(standing.state, c.expected.state);
  ASSERT_THAT(decision->moves, SizeIs(c.writes ? 1 : 0));
  if (c.writes) {
    const TrialMove& move = decision->moves[0];
    EXPECT_EQ(move.state, c.expected.state);
    EXPECT_EQ(move.last_step, c.expected.last_step);
    EXPECT_EQ(move.first_new, c.expected.first_new);
    EXPECT_EQ(move.outcome, c.expected.outcome);
  }
}

const Failure kCrash{.message = "it broke"};
const Failure kWorkerFault{.by_worker = true, .before_first_step = true, .message = "no data"};

INSTANTIATE_TEST_SUITE_P(
    Progress, FlushDecisionTest,
    ::testing::Values(
        Case{"Start", Running(std::nullopt), Start(), {kHeld, -1, kRunning}},
        Case{"StartSupersedesWhatEarlierAttemptsStored", Running(std::nullopt, 40), Start(), {kHeld, -1, kRunning}},
        Case{"StartAgain", Running(-1, 40), Start(), {kHeld, 40, kRunning}, false},
        Case{"Points", Running(), Points({0, 10}), {kHeld, 10, kRunning, 10}},
        Case{"PointsWithoutAStart", Running(std::nullopt, 40), Points({0, 10}), {kHeld, 10, kRunning, 10}},
        Case{"ResentPoints", Running(-1, 10), Points({0, 10}), {kHeld, 10, kRunning}, false},
        Case{"OverlappingPoints", Running(-1, 10), Points({0, 10, 20, 30}), {kHeld, 30, kRunning, 30, 2}},
        Case{"OverlapBetweenSteps", Running(-1, 10), Points({9, 11}), {kHeld, 11, kRunning, 11, 1}},
        Case{"UpToTheBudget", Running(-1, 10), Points({kBudget}), {kHeld, kBudget, kRunning, kBudget}},
        Case{"NothingNew", Running(-1, 10), Points({}), {kHeld, 10, kRunning}, false},
        Case{"NotStartedYet", Running(std::nullopt, 40), Points({}), {kHeld, -1, kRunning}, false}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Stale, FlushDecisionTest,
    ::testing::Values(
        Case{"PointsOfAnEarlierAttempt", Running(-1, 10), Points({20}, 1), {kLost, -1, kRunning}, false},
        Case{"PointsOfAnAttemptNeverGranted", Running(-1, 10), Points({20}, 3), {kLost, -1, kRunning}, false},
        Case{"CompleteOfAnEarlierAttempt",
             Running(-1, 10),
             Ends(Complete{}, kBudget, {kBudget}, 1),
             {kLost, -1, kRunning},
             false},
        Case{"FailureOfAnEarlierAttempt", Running(-1, 10), Ends(kCrash, -1, {}, 1), {kLost, -1, kRunning}, false},
        Case{"AfterItCameBack", Requeued(), Points({50}), {kLost, -1, kQueued}, false},
        Case{"CompleteAgain",
             Over(kComplete, EndReason::kBudget),
             Ends(Complete{}, kBudget),
             {kEnded, 40, kComplete},
             false},
        Case{"AfterTheSweepWasCancelled",
             Over(kCancelled, EndReason::kCancelled),
             Points({50}),
             {kEnded, 40, kCancelled},
             false},
        Case{"EarlierAttemptOfAnEndedTrial",
             Over(kComplete, EndReason::kBudget, 3),
             Points({50}),
             {kLost, -1, kComplete},
             false}),
    [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Endings, FlushDecisionTest,
    ::testing::Values(
        Case{"Complete",
             Running(-1, kBudget),
             Ends(Complete{}, kBudget),
             {kEnded, kBudget, kComplete, kBudget, 0, "complete"}},
        Case{"CompleteWithItsLastReport",
             Running(-1, 50),
             Ends(Complete{}, kBudget, {50, kBudget}),
             {kEnded, kBudget, kComplete, kBudget, 1, "complete"}},
        Case{"WholeTrialInOneBatch",
             Running(std::nullopt, 40),
             Ends(Complete{}, kBudget, {0, kBudget}),
             {kEnded, kBudget, kComplete, kBudget, 0, "complete"}},
        Case{
            "CompleteOvertakesItsLastReport", Running(-1, 50), Ends(Complete{}, kBudget), {kHeld, 50, kRunning}, false},
        Case{"CompleteOvertakesAReport", Running(-1, 10), Ends(Complete{}, kBudget, {20}), {kHeld, 20, kRunning, 20}},
        Case{"ShortComplete", Running(-1, 50), Ends(Complete{}, 50), {kEnded, 50, kFailed, 50, 0, "error"}},
        Case{"CompleteWithNoReportAtAll",
             Running(std::nullopt),
             Ends(Complete{}, -1),
             {kEnded, -1, kFailed, -1, 0, "error"}},
        Case{"Diverged", Running(-1, 50), Ends(Diverged{.step = 51}, 50), {kEnded, 50, kInfeasible, 50, 0, "diverged"}},
        Case{"DivergedWithNoReportAtAll",
             Running(std::nullopt, 40),
             Ends(Diverged{.step = 1}, -1),
             {kEnded, -1, kInfeasible, -1, 0, "diverged"}},
        Case{"DivergedOvertakesAReport", Running(-1, 10), Ends(Diverged{.step = 51}, 50), {kHeld, 10, kRunning}, false},
        Case{"FirstCrash", Crashed(0), Ends(kCrash, -1), {kEnded, -1, kQueued, -1, 0, "error"}},
        Case{"LastButOneCrash", Crashed(1), Ends(kCrash, -1), {kEnded, -1, kQueued, -1, 0, "error"}},
        Case{"CrashAtTheCap", Crashed(2), Ends(kCrash, -1), {kEnded, -1, kFailed, -1, 0, "error"}},
        Case{"CrashOvertakesAReport", Running(-1, 10), Ends(kCrash, 50), {kHeld, 10, kRunning}, false},
        Case{"CrashOfAnAttemptThatNeverStarted",
             Running(std::nullopt, 40),
             Ends(kCrash, -1),
             {kEnded, -1, kQueued, 40, 0, "error"}},
        Case{"WorkerFaultDoesNotCount", Crashed(2), Ends(kWorkerFault, -1), {kEnded, -1, kQueued, -1, 0, "error"}},
        Case{"ReleaseDoesNotCount", Crashed(2), Ends(Released{}, -1), {kEnded, -1, kQueued, -1, 0, "released"}},
        Case{"ReleaseKeepsWhatIsStored",
             Running(-1, 30),
             Ends(Released{}, 50, {40, 50}),
             {kEnded, 50, kQueued, 50, 0, "released"}}),
    [](const auto& info) { return std::string(info.param.name); });

struct RefusedCase {
  const char* name;
  TrialSnapshot trial;
  AttemptEvents events;
  const char* why;
};

class RefusedEventsTest : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedEventsTest, NamesTrialAttemptAndFault) {
  const RefusedCase& c = GetParam();
  const auto decision = Decide({c.events}, c.trial);
  EXPECT_THAT(decision, Fails(absl::StatusCode::kInvalidArgument, "trial 7, attempt 2: "));
  EXPECT_THAT(decision, Fails(absl::StatusCode::kInvalidArgument, c.why));
}

AttemptEvents WithValues(size_t count) {
  AttemptEvents events = Points({0, 10});
  events.values.assign(count, 0.5);
  return events;
}
AttemptEvents StartAt(int64_t step) {
  AttemptEvents events = Start();
  events.base_step = step;
  return events;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedEventsTest,
    ::testing::Values(
        RefusedCase{"PastTheBudget", Running(), Points({kBudget, kBudget + 1}), "0 and 100, the budget"},
        RefusedCase{"NegativeStep", Running(), Points({-1, 5}), "steps -1 to 5"},
        RefusedCase{"SameStepTwice", Running(), Points({5, 5}), "do not rise"},
        RefusedCase{"StepsFall", Running(), Points({5, 4}), "do not rise"},
        RefusedCase{"TooFewValues", Running(), WithValues(3), "3 values for 2 steps; the study has 2 metrics"},
        RefusedCase{"ValuesOfAnotherWidth", Running(), WithValues(6), "6 values"},
        RefusedCase{"ReportAtTheNonFiniteStep", Running(), Ends(Diverged{.step = 20}, 20, {10, 20}), "at step 20"},
        RefusedCase{"ReportPastTheNonFiniteStep", Running(), Ends(Diverged{.step = 15}, 10, {10, 20}), "at step 15"},
        RefusedCase{"StoredPastTheNonFiniteStep", Running(-1, 50), Ends(Diverged{.step = 15}, 10), "at step 15"},
        RefusedCase{"DivergedPastTheBudget", Running(), Ends(Diverged{.step = kBudget + 1}, -1), "budget of 100"},
        RefusedCase{"StartFromACheckpoint", Running(std::nullopt, 40), StartAt(40), "from scratch"},
        RefusedCase{"StoppedByABound", Running(), Ends(AtBound{}, -1), "no bounds were sent"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(FlushDecisionTest, AnUnknownTrialIsLost) {
  AttemptEvents events = Points({1});
  events.trial = 99;
  const auto decision = Decide({events}, Running());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->standings[0].verdict, kLost);
  EXPECT_THAT(decision->moves, IsEmpty());
}

TEST(FlushDecisionTest, StaleAndCurrentAttemptOfOneTrialInOneBatch) {
  const auto decision = Decide({Points({90}, 1), Points({10}, 2)}, Running());
  ASSERT_THAT(decision, IsOk());
  EXPECT_EQ(decision->standings[0].verdict, kLost);
  EXPECT_EQ(decision->standings[1].verdict, kHeld);
  EXPECT_EQ(decision->standings[1].persisted_step, 10);
  ASSERT_THAT(decision->moves, SizeIs(1));
  EXPECT_EQ(decision->moves[0].event, 1u);
}

TEST(FlushDecisionTest, MovesAreSortedByTrialWhateverTheBatchsOrder) {
  absl::flat_hash_map<int64_t, TrialSnapshot> trials;
  std::vector<AttemptEvents> batch;
  for (const int64_t id : {9, 3, 6}) {
    trials[id] = Running();
    trials[id].trial = id;
    batch.push_back(Points({1}));
    batch.back().trial = id;
  }
  const auto decision = DecideFlush(
      batch, trials, [](int64_t) { return kRules; }, kCaps);
  ASSERT_THAT(decision, IsOk());
  ASSERT_THAT(decision->moves, SizeIs(3));
  EXPECT_EQ(decision->moves[0].before.trial, 3);
  EXPECT_EQ(decision->moves[0].event, 1u);
  EXPECT_EQ(decision->moves[2].before.trial, 9);
  EXPECT_EQ(decision->standings[0].trial, 9);
}

TrialMove MoveOf(const AttemptEvents& events, const TrialSnapshot& trial) {
  const auto decision = Decide({events}, trial);
  EXPECT_THAT(decision, IsOk());
  EXPECT_THAT(decision->moves, SizeIs(1));
  return decision->moves.at(0);
}

TEST(FlushDecisionTest, ACrashCountsAndAvoidsItsSession) {
  const TrialMove move = MoveOf(Ends(kCrash, -1), Crashed(1));
  EXPECT_EQ(move.crashes, 2);
  EXPECT_TRUE(move.avoid);
  EXPECT_FALSE(move.early_failure);
  EXPECT_EQ(move.error, "it broke");
}

TEST(FlushDecisionTest, TheCrashAtTheCapKeepsItsError) {
  const TrialMove move = MoveOf(Ends(kCrash, -1), Crashed(2));
  EXPECT_EQ(move.crashes, 3);
  EXPECT_EQ(move.end_reason, EndReason::kError);
  EXPECT_EQ(move.error, "it broke");
}

TEST(FlushDecisionTest, OnlyAWorkersFaultBeforeTheFirstStepIsAnEarlyFailure) {
  EXPECT_TRUE(MoveOf(Ends(kWorkerFault, -1), Running()).early_failure);
  EXPECT_FALSE(MoveOf(Ends(Failure{.by_worker = true}, -1), Running()).early_failure);
  EXPECT_FALSE(MoveOf(Ends(Failure{.before_first_step = true}, -1), Running()).early_failure);
}

TEST(FlushDecisionTest, AShortCompleteSaysHowShort) {
  EXPECT_EQ(MoveOf(Ends(Complete{}, 50), Running(-1, 50)).error, "reported complete at step 50 of 100");
}

TEST(FlushDecisionTest, DivergedKeepsTheStepAndTheReason) {
  const TrialMove move = MoveOf(Ends(Diverged{.step = 51, .reason = "loss is inf"}, 50), Running(-1, 50));
  EXPECT_EQ(move.end_step, 51);
  EXPECT_EQ(move.end_reason, EndReason::kDiverged);
  EXPECT_EQ(move.error, "loss is inf");
}

TEST(FlushDecisionTest, AnAttemptThatNeverStartedSaysSo) {
  EXPECT_EQ(MoveOf(Ends(Released{}, -1), Running(std::nullopt, 40)).base_step, std::nullopt);
  EXPECT_EQ(MoveOf(Ends(Released{}, -1), Running(-1, 40)).base_step, -1);
}

// Ten running trials of a strand that wants ten, `counts` of others aside.
StrandSnapshot TenRunning() {
  StrandSnapshot strand{
      .strand = 1, .may_grow = true, .wanted = 10, .max_trials = 14, .created = 10, .sampler_size = 1000};
  strand.counts[kRunning] = 10;
  return strand;
}

StateCounts Left(TrialState state, int64_t count) {
  StateCounts left;
  left[state] = count;
  return left;
}

struct StrandCase {
  const char* name;
  StrandSnapshot strand;
  StateCounts left;
  int64_t top_up;
  int64_t queued;
};

class DecideStrandTest : public ::testing::TestWithParam<StrandCase> {};

TEST_P(DecideStrandTest, CountsAndTopUp) {
  const StrandCase& c = GetParam();
  const StrandMove move = DecideStrand(c.strand, c.left);
  EXPECT_EQ(move.top_up, c.top_up);
  EXPECT_EQ(move.counts[kQueued], c.queued);
  EXPECT_EQ(move.counts[kRunning], c.strand.counts[kRunning] - c.left.total());
  EXPECT_EQ(move.counts.total(), c.strand.created + c.top_up);
}

StrandSnapshot With(StrandSnapshot strand, bool may_grow, int64_t sampler_size) {
  strand.may_grow = may_grow;
  strand.sampler_size = sampler_size;
  return strand;
}

INSTANTIATE_TEST_SUITE_P(All, DecideStrandTest,
                         ::testing::Values(StrandCase{"CompleteIsNotReplaced", TenRunning(), Left(kComplete, 3), 0, 0},
                                           StrandCase{"FailedIsNotReplaced", TenRunning(), Left(kFailed, 3), 0, 0},
                                           StrandCase{"RequeuedIsNotReplaced", TenRunning(), Left(kQueued, 3), 0, 3},
                                           StrandCase{"InfeasibleIsReplaced", TenRunning(), Left(kInfeasible, 3), 3, 3},
                                           StrandCase{"UpToTheCap", TenRunning(), Left(kInfeasible, 9), 4, 4},
                                           StrandCase{"UpToTheSamplersEnd", With(TenRunning(), true, 12),
                                                      Left(kInfeasible, 9), 2, 2},
                                           StrandCase{"NotWithoutTopUpOrInACancelledSweep",
                                                      With(TenRunning(), false, 1000), Left(kInfeasible, 3), 0, 0}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stepcurve
