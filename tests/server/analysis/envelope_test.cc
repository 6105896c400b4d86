// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/envelope.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/support/hash.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Measured {
  int64_t trial;
  int64_t number;
  std::vector<int64_t> steps;
  std::vector<double> values;
};

// Owns the staircases that a pool points to.
struct Pool {
  std::vector<Staircase> stairs;
  std::vector<PooledTrial> trials;

  Pool(const std::vector<Measured>& measured, bool rising) : stairs(measured.size()) {
    for (size_t i = 0; i < measured.size(); ++i) {
      for (size_t p = 0; p < measured[i].steps.size(); ++p) {
        stairs[i].Add(measured[i].steps[p], measured[i].values[p], rising);
      }
      trials.push_back({measured[i].trial, measured[i].number, &stairs[i]});
    }
  }
};

Goal Below(double threshold) { return {"val/x", Goal::Comparison::kLess, threshold}; }
Goal AtMost(double threshold) { return {"val/x", Goal::Comparison::kLessOrEqual, threshold}; }

TEST(EnvelopeTest, FirstLayerIsTheBestSoFar) {
  const Pool pool({{11, 1, {0, 10, 20}, {0.9, 0.5, 0.1}}, {12, 2, {0, 10, 20}, {0.8, 0.6, 0.3}}}, false);
  const Envelope envelope = BuildEnvelope(pool.trials, false);
  ASSERT_EQ(envelope.layers.size(), 2u);
  EXPECT_THAT(envelope.layers[0].steps, ElementsAre(0, 0, 10, 20));
  EXPECT_THAT(envelope.layers[0].values, ElementsAre(0.9, 0.8, 0.5, 0.1));
  EXPECT_THAT(envelope.layers[0].numbers, ElementsAre(1, 2, 1, 1));
  EXPECT_THAT(envelope.layers[1].values, ElementsAre(0.9, 0.8, 0.6, 0.3));
}

TEST(EnvelopeTest, TiesInStepGoToTheLowerNumberThenTheLowerTrial) {
  const Pool pool({{31, 9, {10}, {0.05}}, {32, 4, {10}, {0.09}}, {30, 4, {10}, {0.08}}}, false);
  const Envelope envelope = BuildEnvelope(pool.trials, false);
  EXPECT_EQ(FindCrossing(envelope, Below(0.1), 1)->trial, 30);
  EXPECT_EQ(FindCrossing(envelope, Below(0.1), 2)->trial, 32);
  EXPECT_EQ(FindCrossing(envelope, Below(0.1), 3)->trial, 31);
  EXPECT_EQ(FindCrossing(envelope, Below(0.06), 1)->trial, 31);
}

TEST(EnvelopeTest, AGoalMetExactlyCountsOnlyWhereTheComparisonIncludesIt) {
  const Pool pool({{1, 1, {10, 20}, {500.0 / 5000, 0.09}}}, false);
  const Envelope envelope = BuildEnvelope(pool.trials, false);
  EXPECT_EQ(FindCrossing(envelope, Below(0.1), 1)->step, 20);
  EXPECT_EQ(FindCrossing(envelope, AtMost(0.1), 1)->step, 10);
}

TEST(EnvelopeTest, RisingMetricsAreAnsweredUpwards) {
  const Pool pool({{1, 1, {10, 20}, {0.2, 0.32}}, {2, 2, {10, 20}, {0.31, 0.1}}}, true);
  const Envelope envelope = BuildEnvelope(pool.trials, true);
  const Goal goal{"val/average_precision", Goal::Comparison::kGreater, 0.31};
  EXPECT_EQ(FindCrossing(envelope, goal, 1)->step, 20);
  EXPECT_FALSE(FindCrossing(envelope, goal, 2).has_value());
}

TEST(EnvelopeTest, EmptyAndNeverFinitePoolsHaveNoCrossing) {
  EXPECT_FALSE(FindCrossing(BuildEnvelope({}, false), Below(1), 1).has_value());
  const Pool pool({{1, 1, {0, 5}, {kNan, kNan}}}, false);
  const Envelope envelope = BuildEnvelope(pool.trials, false);
  ASSERT_EQ(envelope.layers.size(), 1u);
  EXPECT_THAT(envelope.layers[0].steps, IsEmpty());
  EXPECT_FALSE(FindCrossing(envelope, Below(1), 1).has_value());
  EXPECT_FALSE(FindCrossing(envelope, Below(1), 0).has_value());
  EXPECT_FALSE(FindCrossing(envelope, Below(1), 6).has_value());
}

// By definition: the k-th smallest (step, number, trial) of the trials' first measurements past the goal.
std::optional<Crossing> BruteForce(const std::vector<Measured>& pool, const Goal& goal, int rank) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> crossings;
  for (const Measured& trial : pool) {
    for (size_t p = 0; p < trial.steps.size(); ++p) {
      if (goal.IsPast(trial.values[p]) && std::isfinite(trial.values[p])) {
        crossings.emplace_back(trial.steps[p], trial.number, trial.trial);
        break;
      }
    }
  }
  std::sort(crossings.begin(), crossings.end());
  if (static_cast<size_t>(rank) > crossings.size()) return std::nullopt;
  const auto& [step, number, trial] = crossings[rank - 1];
  return Crossing{.step = step, .trial = trial, .number = number};
}

// Values are few (multiples of 1/16), so that ties of every kind abound.
std::vector<Measured> RandomPool(SplitMix64& random) {
  std::vector<Measured> pool;
  const uint64_t trials = random.NextBelow(9);
  for (uint64_t t = 0; t < trials; ++t) {
    // Two trials may share a number: repeats of one point.
    Measured trial{.trial = 100 + static_cast<int64_t>(random.NextBelow(2)) * 50 + static_cast<int64_t>(t),
                   .number = 1 + static_cast<int64_t>(random.NextBelow(6))};
    int64_t step = 0;
    const uint64_t points = random.NextBelow(12);
    for (uint64_t p = 0; p < points; ++p) {
      trial.steps.push_back(step);
      trial.values.push_back(random.NextBelow(10) == 0 ? kNan : static_cast<double>(random.NextBelow(17)) / 16);
      step += 1 + static_cast<int64_t>(random.NextBelow(3));
    }
    pool.push_back(std::move(trial));
  }
  return pool;
}

TEST(EnvelopeTest, AnswersEveryGoalAndRankAsTheDefinitionDoes) {
  SplitMix64 random(20261201);
  int reached = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Measured> measured = RandomPool(random);
    for (const bool rising : {false, true}) {
      const Pool pool(measured, rising);
      const Envelope envelope = BuildEnvelope(pool.trials, rising);
      for (int sixteenths = 0; sixteenths <= 16; ++sixteenths) {
        for (const bool inclusive : {false, true}) {
          const auto comparison = rising ? (inclusive ? Goal::Comparison::kGreaterOrEqual : Goal::Comparison::kGreater)
                                         : (inclusive ? Goal::Comparison::kLessOrEqual : Goal::Comparison::kLess);
          const Goal goal{"val/x", comparison, sixteenths / 16.0};
          for (int rank = 1; rank <= kLayers; ++rank) {
            const std::optional<Crossing> expected = BruteForce(measured, goal, rank);
            const std::optional<Crossing> found = FindCrossing(envelope, goal, rank);
            ASSERT_EQ(found.has_value(), expected.has_value()) << "round " << round << " rank " << rank;
            if (!expected.has_value()) continue;
            ++reached;
            ASSERT_EQ(std::tie(found->step, found->number, found->trial),
                      std::tie(expected->step, expected->number, expected->trial))
                << "round " << round << " rank " << rank << " goal " << FormatGoal(goal);
            ASSERT_TRUE(goal.IsPast(found->value));
          }
        }
      }
    }
  }
  EXPECT_GT(reached, 100'000);
}

}  // namespace
}  // namespace stepcurve
