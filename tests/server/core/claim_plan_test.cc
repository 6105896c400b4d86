// SPDX-License-Identifier: Apache-2.0
#include "server/core/claim_plan.h"

#include <cstdlib>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const auto kAnywhere = [](int64_t, size_t) { return true; };

ClaimableStrand Strand(int64_t strand, int64_t sweep, int64_t fresh, int64_t grants = 0) {
  return {.strand = strand, .study = strand, .sweep = sweep, .fresh = fresh, .grants = grants};
}

std::map<int64_t, int64_t> TrialsByStrand(const std::vector<ClaimShare>& plan) {
  std::map<int64_t, int64_t> counts;
  for (const ClaimShare& share : plan) {
    counts[share.strand] += share.count;
  }
  return counts;
}
std::map<int64_t, int64_t> TrialsBySession(const std::vector<ClaimShare>& plan) {
  std::map<int64_t, int64_t> counts;
  for (const ClaimShare& share : plan) {
    counts[share.session] += share.count;
  }
  return counts;
}

using Counts = std::map<int64_t, int64_t>;

struct Case {
  const char* name;
  std::vector<ClaimableSweep> sweeps;
  std::vector<ClaimableStrand> strands;
  int64_t wanted;
  Counts expected;  // By strand.
};

class PlanClaimsTest : public ::testing::TestWithParam<Case> {};

TEST_P(PlanClaimsTest, DividesAmongStrands) {
  const Case& c = GetParam();
  EXPECT_EQ(TrialsByStrand(PlanClaims({{.session = 9, .wanted = c.wanted}}, c.sweeps, c.strands, kAnywhere)),
            c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanClaimsTest,
    ::testing::Values(
        Case{"NothingQueued", {{.sweep = 1}}, {Strand(1, 1, 0)}, 5, {}}, Case{"NoSweep", {}, {Strand(1, 1, 7)}, 5, {}},
        Case{"NoMoreThanWanted", {{.sweep = 1}}, {Strand(1, 1, 7)}, 5, {{1, 5}}},
        Case{"NoMoreThanThereAre", {{.sweep = 1}}, {Strand(1, 1, 3)}, 5, {{1, 3}}},
        Case{"RequeuedCountToo",
             {{.sweep = 1}},
             {{.strand = 1, .study = 1, .sweep = 1, .fresh = 1, .requeued = 2}},
             5,
             {{1, 3}}},
        Case{"BatchSizesFillEvenly",
             {{.sweep = 1}},
             {Strand(1, 1, 99), Strand(2, 1, 99), Strand(3, 1, 99)},
             6,
             {{1, 2}, {2, 2}, {3, 2}}},
        Case{"FewestGrantsCatchUp", {{.sweep = 1}}, {Strand(1, 1, 99, 10), Strand(2, 1, 99, 4)}, 8, {{1, 1}, {2, 7}}},
        Case{"TiesGoToTheLowerId", {{.sweep = 1}}, {Strand(2, 1, 9), Strand(1, 1, 9)}, 1, {{1, 1}}},
        Case{"SweepsShareFairlyWhateverTheirSize",
             {{.sweep = 1}, {.sweep = 2}},
             {Strand(1, 1, 99), Strand(2, 1, 99), Strand(3, 1, 99), Strand(4, 2, 99)},
             12,
             {{1, 2}, {2, 2}, {3, 2}, {4, 6}}},
        Case{"LeastPassCatchesUp",
             {{.sweep = 1, .pass = 100}, {.sweep = 2, .pass = 97}},
             {Strand(1, 1, 99), Strand(2, 2, 99)},
             5,
             {{1, 1}, {2, 4}}},
        Case{"PriorityIsStrict",
             {{.sweep = 1, .priority = 0}, {.sweep = 2, .priority = 1, .pass = 1000}},
             {Strand(1, 1, 99), Strand(2, 2, 99)},
             5,
             {{2, 5}}},
        Case{"LowerPriorityTakesWhatIsLeft",
             {{.sweep = 1, .priority = -1000}, {.sweep = 2, .priority = 1000}},
             {Strand(1, 1, 99), Strand(2, 2, 3)},
             5,
             {{1, 2}, {2, 3}}},
        Case{"CapHoldsAndOthersGetTheRest",
             {{.sweep = 1, .room = 2}, {.sweep = 2, .pass = 50}},
             {Strand(1, 1, 99), Strand(2, 2, 99)},
             5,
             {{1, 2}, {2, 3}}},
        Case{"FullSweepGetsNothing", {{.sweep = 1, .room = 0}}, {Strand(1, 1, 99)}, 5, {}},
        Case{"OverfullSweepGetsNothing", {{.sweep = 1, .room = -3}}, {Strand(1, 1, 99)}, 5, {}},
        Case{"NothingWanted", {{.sweep = 1}}, {Strand(1, 1, 99)}, 0, {}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(PlanClaimsTest, FewTrialsAreSpreadOverManySessions) {
  std::vector<ClaimDemand> demands;
  for (int64_t session = 1; session <= 5; ++session) {
    demands.push_back({.session = session, .wanted = 8});
  }
  EXPECT_EQ(TrialsBySession(PlanClaims(demands, {{.sweep = 1}}, {Strand(1, 1, 5)}, kAnywhere)),
            (Counts{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}));
}

TEST(PlanClaimsTest, OffersATrialOnlyToSlotsThatFit) {
  const std::vector<ClaimDemand> demands = {{.session = 1, .wanted = 4}, {.session = 2, .wanted = 4}};
  const auto fits = [](int64_t study, size_t demand) { return study == 1 ? demand == 1 : false; };
  const std::vector<ClaimShare> plan =
      PlanClaims(demands, {{.sweep = 1}}, {Strand(1, 1, 9, 100), Strand(2, 1, 9)}, fits);
  EXPECT_EQ(TrialsByStrand(plan), (Counts{{1, 4}}));
  EXPECT_EQ(TrialsBySession(plan), (Counts{{2, 4}}));
}

TEST(PlanClaimsTest, AHigherPriorityThatNobodyCanRunBlocksNobody) {
  const std::vector<ClaimShare> plan =
      PlanClaims({{.session = 1, .wanted = 2}}, {{.sweep = 1, .priority = 5}, {.sweep = 2}},
                 {Strand(1, 1, 9), Strand(2, 2, 9)}, [](int64_t study, size_t) { return study == 2; });
  EXPECT_EQ(TrialsByStrand(plan), (Counts{{2, 2}}));
}

TEST(PlanClaimsTest, SharesNameTheirSlotClassAndAreSortedByStrand) {
  const std::vector<ClaimShare> plan = PlanClaims({{.session = 1, .slot_class = 3, .wanted = 2}}, {{.sweep = 1}},
                                                  {Strand(8, 1, 9), Strand(7, 1, 9)}, kAnywhere);
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].strand, 7);
  EXPECT_EQ(plan[1].strand, 8);
  EXPECT_EQ(plan[0].slot_class, 3);
}

TEST(PlanClaimsTest, AsksAboutAStudyAndASlotOnce) {
  int asked = 0;
  PlanClaims({{.session = 1, .wanted = 500}}, {{.sweep = 1}}, {Strand(1, 1, 900)}, [&](int64_t, size_t) {
    ++asked;
    return true;
  });
  EXPECT_EQ(asked, 1);
}

// Whatever it is given: never more than a demand wants, a strand has or a sweep has room for, and nothing is left idle
// that could run.
TEST(PlanClaimsTest, HoldsItsLimitsOnRandomFleets) {
  std::srand(7);
  const auto below = [](int n) { return std::rand() % n; };
  for (int round = 0; round < 500; ++round) {
    std::vector<ClaimableSweep> sweeps;
    std::vector<ClaimableStrand> strands;
    std::vector<ClaimDemand> demands;
    for (int64_t sweep = 1; sweep <= 1 + below(4); ++sweep) {
      sweeps.push_back({.sweep = sweep, .priority = below(3), .pass = static_cast<double>(below(20))});
      if (below(2) == 0) {
        sweeps.back().room = below(10);
      }
    }
    for (int64_t strand = 1; strand <= 1 + below(8); ++strand) {
      strands.push_back({.strand = strand,
                         .study = (strand + 1) / 2,
                         .sweep = 1 + below(static_cast<int>(sweeps.size())),
                         .fresh = below(10),
                         .requeued = below(4),
                         .grants = below(10)});
    }
    for (int64_t session = 1; session <= 1 + below(5); ++session) {
      demands.push_back({.session = session, .wanted = below(12)});
    }
    const int mask = below(16);
    const auto fits = [&](int64_t study, size_t demand) {
      return ((study * 7 + static_cast<int64_t>(demand)) & mask) == 0;
    };

    Counts by_strand, by_session, by_sweep;
    for (const ClaimShare& share : PlanClaims(demands, sweeps, strands, fits)) {
      ASSERT_GT(share.count, 0);
      by_strand[share.strand] += share.count;
      by_session[share.session] += share.count;
      by_sweep[strands[static_cast<size_t>(share.strand) - 1].sweep] += share.count;
    }
    const auto has_room = [&](const ClaimableSweep& sweep) {
      return !sweep.room.has_value() || by_sweep[sweep.sweep] < *sweep.room;
    };
    for (const ClaimableSweep& sweep : sweeps) {
      ASSERT_LE(by_sweep[sweep.sweep], sweep.room.value_or(1000));
    }
    for (size_t d = 0; d < demands.size(); ++d) {
      ASSERT_LE(by_session[demands[d].session], demands[d].wanted);
      for (const ClaimableStrand& strand : strands) {
        ASSERT_LE(by_strand[strand.strand], strand.fresh + strand.requeued);
        const bool idle = by_session[demands[d].session] < demands[d].wanted && fits(strand.study, d) &&
                          by_strand[strand.strand] < strand.fresh + strand.requeued &&
                          has_room(sweeps[static_cast<size_t>(strand.sweep) - 1]);
        ASSERT_FALSE(idle) << "round " << round << ": session " << demands[d].session << " could take more of strand "
                           << strand.strand;
      }
    }
  }
}

struct FitCase {
  const char* name;
  Needs needs;
  int64_t training_examples;
  Capabilities can_run;
  SlotClass slot;
  Fit expected;
};

Capabilities Offers(int64_t train_examples) {
  return {.datasets = {{.name = "fashion_mnist", .train_examples = train_examples}},
          .models = {"fc"},
          .optimizers = {"sgd"}};
}

class CanRunTest : public ::testing::TestWithParam<FitCase> {};

TEST_P(CanRunTest, SaysWhyNot) {
  const FitCase& c = GetParam();
  StudyDefinition study;
  study.workload = {.dataset = "fashion_mnist", .model = "fc_100_10", .optimizer = "sgd"};
  study.training_examples = c.training_examples;
  study.needs = c.needs;
  EXPECT_EQ(CanRun(study, c.can_run, c.slot), c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, CanRunTest,
    ::testing::Values(
        FitCase{"Fits", {}, 55000, Offers(60000), {}, Fit::kFits},
        FitCase{"NoEpochsNeedNoSize", {}, 0, Offers(0), {}, Fit::kFits},
        FitCase{"NoDataset", {}, 55000, {.models = {"fc"}, .optimizers = {"sgd"}}, {}, Fit::kNoDataset},
        FitCase{"SmallerDataset", {}, 55000, Offers(1000), {}, Fit::kWrongSizes},
        FitCase{"NoModel", {}, 0, {.datasets = {{.name = "fashion_mnist"}}, .optimizers = {"sgd"}}, {}, Fit::kNoModel},
        FitCase{
            "NoOptimizer", {}, 0, {.datasets = {{.name = "fashion_mnist"}}, .models = {"fc"}}, {}, Fit::kNoOptimizer},
        FitCase{"OtherDevice", {.device = "cuda"}, 0, Offers(0), {.device = "cpu"}, Fit::kNoDevice},
        FitCase{"SameDevice", {.device = "cuda"}, 0, Offers(0), {.device = "cuda"}, Fit::kFits},
        FitCase{"TooFewDevices", {.devices = 4}, 0, Offers(0), {.devices = 2}, Fit::kNoDevice},
        FitCase{"EnoughDevices", {.devices = 2}, 0, Offers(0), {.devices = 2}, Fit::kFits},
        FitCase{"TooLittleMemory", {.memory_bytes = 9}, 0, Offers(0), {.memory_bytes = 8}, Fit::kNoDevice},
        FitCase{"EnoughMemory", {.memory_bytes = 8}, 0, Offers(0), {.memory_bytes = 8}, Fit::kFits},
        FitCase{"UnknownMemoryFits", {.memory_bytes = 9}, 0, Offers(0), {.memory_bytes = 0}, Fit::kFits}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace stepcurve
