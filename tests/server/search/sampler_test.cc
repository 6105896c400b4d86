// SPDX-License-Identifier: Apache-2.0
#include "server/search/sampler.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gmock/gmock.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

SpaceEntry Range(const std::string& name, RangeEntry range, Times times = {}) {
  return {.name = name, .kind = range, .times = times};
}
SpaceEntry Values(const std::string& name, std::vector<double> values, Times times = {}) {
  return {.name = name, .kind = ValuesEntry{std::move(values)}, .times = times};
}
SpaceEntry Fixed(const std::string& name, double value, Times times = {}) {
  return {.name = name, .kind = FixedEntry{value}, .times = times};
}
SpaceEntry Unit(const std::string& name) { return Range(name, {.min = 0, .max = 1}); }

std::vector<double> Coordinates(const Sampler& sampler, int count, size_t entry) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(sampler.At(i, {}).coordinates[entry]);
  return values;
}

// A change here changes the points of every sweep. The numbers come from another implementation of the definition.
TEST(HaltonTest, FirstPointsAreGolden) {
  const Sampler sampler({Unit("a"), Unit("b"), Unit("c")}, SamplerKind::kHalton, 0x0123456789abcdef);
  EXPECT_THAT(sampler.At(0, {}).parameters, ElementsAre(0.83379093445967745, 0.50488739672125671, 0.65040304646704727));
  EXPECT_THAT(sampler.At(1, {}).parameters, ElementsAre(0.33379093445967745, 0.17155406338792339, 0.85040304646704734));
  EXPECT_THAT(sampler.At(1000, {}).parameters,
              ElementsAre(0.92656437195967745, 0.15737939489226724, 0.65392304646704724));
}

TEST(RandomTest, FirstPointsAreGolden) {
  const Sampler sampler({Unit("a"), Unit("b")}, SamplerKind::kRandom, 0x0123456789abcdef);
  EXPECT_THAT(sampler.At(0, {}).parameters, ElementsAre(0.07458736857834436, 0.81756073397358819));
  EXPECT_THAT(sampler.At(1000, {}).parameters, ElementsAre(0.93064315268997666, 0.42514246754284069));
}

// In every block of base^k points each of the base^k equal intervals holds one: what makes it quasi-random.
TEST(HaltonTest, EachDimensionIsStratifiedInItsBase) {
  const Sampler sampler({Unit("a"), Unit("b"), Unit("c"), Unit("d")}, SamplerKind::kHalton, 42);
  const int blocks[] = {64, 81, 125, 343};
  for (size_t dimension = 0; dimension < 4; ++dimension) {
    // Of a shifted sequence the gaps are what stays: sorted, neighbours are 1 / block apart.
    std::vector<double> values = Coordinates(sampler, blocks[dimension], dimension);
    std::sort(values.begin(), values.end());
    for (size_t i = 1; i < values.size(); ++i) {
      EXPECT_NEAR(values[i] - values[i - 1], 1.0 / blocks[dimension], 1e-9);
    }
  }
}

TEST(HaltonTest, AddingADimensionKeepsTheEarlierOnes) {
  const Sampler one({Unit("a")}, SamplerKind::kHalton, 42);
  const Sampler two({Unit("a"), Fixed("x", 3), Unit("b")}, SamplerKind::kHalton, 42);
  EXPECT_EQ(Coordinates(one, 50, 0), Coordinates(two, 50, 0));
}

TEST(SamplerTest, PointsAreDistinctAndDependOnTheKey) {
  for (SamplerKind kind : {SamplerKind::kHalton, SamplerKind::kRandom}) {
    std::set<std::vector<double>> seen;
    for (uint64_t key : {1, 2, 3}) {
      const Sampler sampler({Unit("a"), Unit("b")}, kind, key);
      for (int i = 0; i < 1000; ++i) seen.insert(sampler.At(i, {}).parameters);
    }
    EXPECT_EQ(seen.size(), 3000u);
  }
}

TEST(SamplerTest, RandomIsUniform) {
  const Sampler sampler({Unit("a"), Values("b", {7, 8, 9})}, SamplerKind::kRandom, 5);
  double sum = 0;
  int sevens = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Point point = sampler.At(i, {});
    sum += point.coordinates[0];
    sevens += point.coordinates[1] == 7;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.01);
  EXPECT_NEAR(sevens, 3333, 150);
}

TEST(SamplerTest, EndlessOnesSaySo) {
  EXPECT_EQ(Sampler({Unit("a")}, SamplerKind::kHalton, 1).size(), INT64_MAX);
  EXPECT_EQ(Sampler({Unit("a")}, SamplerKind::kRandom, 1).size(), INT64_MAX);
}

TEST(GridTest, RunsTheLastEntryFastest) {
  const Sampler sampler({Values("a", {1, 2}), Fixed("f", 9), Range("b", {.min = 0, .max = 1, .count = 3})},
                        SamplerKind::kGrid, 0);
  EXPECT_EQ(sampler.size(), 6);
  EXPECT_THAT(sampler.At(0, {}).parameters, ElementsAre(1, 9, 0));
  EXPECT_THAT(sampler.At(1, {}).parameters, ElementsAre(1, 9, 0.5));
  EXPECT_THAT(sampler.At(2, {}).parameters, ElementsAre(1, 9, 1));
  EXPECT_THAT(sampler.At(5, {}).parameters, ElementsAre(2, 9, 1));
}

TEST(GridTest, HoldsBothEndsExactlyAndDecimalSteps) {
  struct Case {
    RangeEntry range;
    std::vector<double> values;
  };
  const Case rows[] = {
      {{.min = 0, .max = 1, .count = 11}, {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
      {{.min = 0.1, .max = 0.5, .count = 5}, {0.1, 0.2, 0.3, 0.4, 0.5}},
      {{.min = 0, .max = 1, .count = 4}, {0, 1.0 / 3, 2.0 / 3, 1}},
      {{.min = 1, .max = 100, .scale = Scale::kLog, .integer = true, .count = 3}, {1, 10, 100}},
  };
  for (const Case& row : rows) {
    const Sampler sampler({Range("a", row.range)}, SamplerKind::kGrid, 0);
    ASSERT_EQ(sampler.size(), static_cast<int64_t>(row.values.size()));
    for (size_t i = 0; i < row.values.size(); ++i) {
      EXPECT_DOUBLE_EQ(sampler.At(i, {}).coordinates[0], row.values[i]);
    }
    EXPECT_EQ(sampler.At(0, {}).coordinates[0], row.values.front()) << "bit for bit";
    EXPECT_EQ(sampler.At(sampler.size() - 1, {}).coordinates[0], row.values.back()) << "bit for bit";
  }
  const RangeEntry log{.min = 1e-4, .max = 10, .scale = Scale::kLog, .count = 6};
  const Sampler sampler({Range("a", log)}, SamplerKind::kGrid, 0);
  EXPECT_EQ(sampler.At(0, {}).coordinates[0], 1e-4);
  EXPECT_EQ(sampler.At(5, {}).coordinates[0], 10);
  EXPECT_DOUBLE_EQ(sampler.At(2, {}).coordinates[0], 1e-2);
}

TEST(GridTest, SizeBeyondInt64IsEndless) {
  SearchSpace space;
  for (int i = 0; i < 5; ++i) space.push_back(Range(std::string(1, 'a' + i), {.min = 0, .max = 1, .count = 1'000'000}));
  EXPECT_EQ(Sampler(space, SamplerKind::kGrid, 0).size(), INT64_MAX);
}

TEST(PointsTest, AreTheTablesRows) {
  const Sampler sampler({Values("a", {}), Values("b", {})}, SamplerKind::kPoints, 0, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(sampler.size(), 3);
  EXPECT_THAT(sampler.At(2, {}).parameters, ElementsAre(5, 6));
}

TEST(TimesTest, MultipliesWhatWasDrawn) {
  const StudyScale scale{.budget_steps = 1001, .batch_size = 1024};
  const SearchSpace space = {Fixed("learning_rate", 0.1, TimesBatchSize{.power = 0.5, .at = 256}),
                             Fixed("steps", 0.5, TimesBudget{}),
                             Fixed("few", 1e-9, TimesBudget{}),
                             Fixed("none", 0, TimesBudget{}),
                             Fixed("ratio", 3, TimesParameter{"learning_rate"}),
                             Fixed("first", 2, TimesParameter{"last"}),
                             Fixed("last", 7)};
  const Point point = Sampler(space, SamplerKind::kHalton, 1).At(0, scale);
  EXPECT_THAT(point.coordinates, ElementsAre(0.1, 0.5, 1e-9, 0, 3, 2, 7));
  EXPECT_THAT(point.parameters, ElementsAre(0.2, 501, 1, 0, ::testing::DoubleEq(0.6), 14, 7))
      << "501 is 500.5 rounded; at least one step unless the share is 0";
}

}  // namespace
}  // namespace stepcurve
