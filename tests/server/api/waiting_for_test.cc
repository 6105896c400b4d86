// SPDX-License-Identifier: Apache-2.0
#include "server/api/waiting_for.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/api/measured_sweeps.h"

namespace stepcurve {
namespace {

SessionRow Worker(std::vector<std::string> datasets, std::set<std::string> models, std::set<std::string> optimizers,
                  SlotClass slot) {
  SessionRow session;
  session.slot_classes = {std::move(slot)};
  for (std::string& name : datasets) session.can_run.datasets.push_back({.name = std::move(name)});
  session.can_run.models = std::move(models);
  session.can_run.optimizers = std::move(optimizers);
  return session;
}

SessionRow Able() { return Worker({"quadratic"}, {"noisy_quadratic"}, {"sgd"}, {.device = "cpu", .slots = 3}); }

SessionRow OnlyFor(int64_t sweep) {
  SessionRow session = Able();
  session.sweeps = std::vector<int64_t>{sweep};
  return session;
}

struct Case {
  std::string name;
  int64_t queued = 1;
  int64_t running = 0;
  SweepState state = SweepState::kActive;
  std::optional<int64_t> max_running;
  int64_t sweep_running = 0;
  std::vector<SessionRow> live;
  v1::WaitingFor why;
  std::string missing;
};

class WhyWaitingTest : public ::testing::TestWithParam<Case> {};

TEST_P(WhyWaitingTest, NamesWhatStandsInTheWay) {
  const Case& c = GetParam();
  StudyRow study;
  study.sweep = 7;
  study.definition = QuadraticStudy(8);
  study.definition.needs.device = "cpu";
  study.counts[TrialState::kQueued] = c.queued;
  study.counts[TrialState::kRunning] = c.running;
  SweepRow sweep;
  sweep.id = 7;
  sweep.state = c.state;
  sweep.max_running = c.max_running;
  sweep.counts[TrialState::kRunning] = c.sweep_running;
  const StudyWait wait = WhyWaiting(study, sweep, c.live);
  EXPECT_EQ(wait.why, c.why) << v1::WaitingFor_Name(wait.why);
  EXPECT_EQ(wait.missing, c.missing);
}

const SlotClass kCpu{.device = "cpu"};
const SlotClass kCuda{.device = "cuda"};

INSTANTIATE_TEST_SUITE_P(
    All, WhyWaitingTest,
    ::testing::Values(Case{.name = "NothingQueued", .queued = 0, .why = v1::NOTHING},
                      Case{.name = "SomethingRuns", .running = 1, .why = v1::NOTHING},
                      Case{.name = "Paused", .state = SweepState::kPaused, .live = {Able()}, .why = v1::SWEEP_PAUSED},
                      Case{.name = "Capped", .max_running = 2, .sweep_running = 2, .live = {Able()}, .why = v1::CAP},
                      Case{
                          .name = "BelowCap", .max_running = 2, .sweep_running = 1, .live = {Able()}, .why = v1::SLOTS},
                      Case{.name = "NoWorker", .why = v1::WORKER},
                      Case{.name = "WorkersOfOtherSweeps", .live = {OnlyFor(8)}, .why = v1::WORKER},
                      Case{.name = "WorkerOfThisSweep", .live = {OnlyFor(7)}, .why = v1::SLOTS},
                      Case{.name = "Busy", .live = {Able()}, .why = v1::SLOTS},
                      Case{.name = "Dataset",
                           .live = {Worker({"mnist"}, {"noisy_quadratic"}, {"sgd"}, kCpu)},
                           .why = v1::WORKER_WITHOUT_DATASET,
                           .missing = "quadratic"},
                      Case{.name = "Model",
                           .live = {Worker({"quadratic"}, {"fc"}, {"sgd"}, kCpu)},
                           .why = v1::WORKER_WITHOUT_MODEL,
                           .missing = "noisy_quadratic_100"},
                      Case{.name = "Optimizer",
                           .live = {Worker({"quadratic"}, {"noisy_quadratic"}, {"momentum"}, kCpu)},
                           .why = v1::WORKER_WITHOUT_MODEL,
                           .missing = "sgd"},
                      Case{.name = "Device",
                           .live = {Worker({"quadratic"}, {"noisy_quadratic"}, {"sgd"}, kCuda)},
                           .why = v1::WORKER_WITHOUT_DEVICE},
                      Case{.name = "TheNearestWorkerSpeaks",
                           .live = {Worker({"mnist"}, {}, {}, kCpu), Worker({"quadratic"}, {"fc"}, {"sgd"}, kCpu)},
                           .why = v1::WORKER_WITHOUT_MODEL,
                           .missing = "noisy_quadratic_100"}),
    [](const auto& info) { return info.param.name; });

TEST(CountFittingTest, CountsWorkersAndSlotsThatCouldRunSomeStudy) {
  const StudyDefinition study = QuadraticStudy(8);
  const StudyDefinition* studies[] = {&study};
  const std::vector<SessionRow> live = {Able(), Able(), OnlyFor(7), Worker({"mnist"}, {"fc"}, {"sgd"}, kCpu)};
  const FittingSlots fitting = CountFitting(studies, live);
  EXPECT_EQ(fitting.workers, 2);
  EXPECT_EQ(fitting.slots, 6);
}

}  // namespace
}  // namespace stepcurve
