// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/slot_table.h"

#include <gtest/gtest.h>

namespace stepcurve {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

SlotTable::Occupant InTrainer(int64_t trial, absl::Duration patience = absl::ZeroDuration()) {
  return {.key = {trial, 1}, .in_trainer = true, .patience = patience, .last_news = kNow};
}

TEST(SlotTableTest, SlotsAreTakenAndFreedByClass) {
  SlotTable table({1, 2});
  EXPECT_EQ(table.FindFree(0), (SlotId{0, 0}));
  table.Occupy({0, 0}, InTrainer(5));
  EXPECT_EQ(table.FindFree(0), std::nullopt);
  EXPECT_EQ(table.FindFree(1), (SlotId{1, 0}));
  EXPECT_EQ(table.FindAttempt({5, 1}), (SlotId{0, 0}));
  EXPECT_EQ(table.FindAttempt({5, 2}), std::nullopt);
  table.Vacate({0, 0});
  EXPECT_TRUE(table.empty());
}

TEST(SlotTableTest, OnlyAStepThatMovesIsNews) {
  SlotTable table({1});
  table.Occupy({0, 0}, InTrainer(5, absl::Minutes(30)));
  table.News({0, 0}, 100, kNow + absl::Minutes(20));
  table.News({0, 0}, 100, kNow + absl::Minutes(40));
  EXPECT_TRUE(table.Stuck(kNow + absl::Minutes(50)).empty());
  EXPECT_EQ(table.Stuck(kNow + absl::Minutes(51)).size(), 1U);
}

TEST(SlotTableTest, WithoutPatienceOrTrainerNothingIsStuck) {
  SlotTable table({2});
  table.Occupy({0, 0}, InTrainer(5));
  SlotTable::Occupant quadratic = InTrainer(6, absl::Seconds(1));
  quadratic.in_trainer = false;
  table.Occupy({0, 1}, quadratic);
  EXPECT_TRUE(table.Stuck(kNow + absl::Hours(1000)).empty());
}

struct Crash {
  std::string name;
  std::vector<absl::Duration> patience;  // Of each attempt that the trainer ran.
  std::vector<bool> blamed;
};

class CrashTest : public ::testing::TestWithParam<Crash> {};

TEST_P(CrashTest, BlamesTheOneThatIsKnownToHaveDoneIt) {
  const Crash& crash = GetParam();
  SlotTable table({4, 1});
  for (size_t i = 0; i < crash.patience.size(); ++i) {
    table.Occupy({0, static_cast<int>(i)}, InTrainer(static_cast<int64_t>(i), crash.patience[i]));
  }
  SlotTable::Occupant quadratic = InTrainer(100);
  quadratic.in_trainer = false;
  table.Occupy({0, 3}, quadratic);
  table.Occupy({1, 0}, InTrainer(200));

  std::vector<bool> blamed;
  for (const SlotTable::Casualty& casualty : table.TrainerDied(0, kNow + absl::Minutes(1))) {
    blamed.push_back(casualty.blamed);
  }
  EXPECT_EQ(blamed, crash.blamed);
  EXPECT_EQ(table.Occupied().size(), 2U) << "neither the quadratic nor the other device's trial ends";
}

INSTANTIATE_TEST_SUITE_P(All, CrashTest,
                         ::testing::Values(Crash{"Idle", {}, {}}, Crash{"Alone", {absl::ZeroDuration()}, {true}},
                                           Crash{"Several", {absl::ZeroDuration(), absl::Hours(1)}, {false, false}},
                                           Crash{"OneStuck",
                                                 {absl::Hours(1), absl::Seconds(1), absl::ZeroDuration()},
                                                 {false, true, false}}),
                         [](const auto& info) { return info.param.name; });

TEST(SlotTableTest, ACasualtySaysWhetherItHadBegun) {
  SlotTable table({1});
  table.Occupy({0, 0}, InTrainer(5));
  EXPECT_FALSE(table.TrainerDied(0, kNow)[0].began);
  table.Occupy({0, 0}, InTrainer(6));
  table.News({0, 0}, 0, kNow);
  EXPECT_TRUE(table.TrainerDied(0, kNow)[0].began);
}

}  // namespace
}  // namespace stepcurve
