// SPDX-License-Identifier: Apache-2.0
#include "server/core/study_definition.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "proto/support/hash.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

// Any finite double, denormals and negative zeros among them.
double AnyDouble(SplitMix64& random) {
  while (true) {
    const uint64_t bits = random.Next();
    double value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    if (random.NextBelow(20) == 0) value = random.NextBelow(2) == 0 ? -0.0 : std::numeric_limits<double>::denorm_min();
    if (random.NextBelow(20) == 0) value = static_cast<double>(static_cast<int64_t>(random.Next()));
    if (std::isfinite(value)) return value;
  }
}

std::vector<double> AnyDoubles(SplitMix64& random, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(AnyDouble(random));
  return values;
}

int64_t AnyInteger(SplitMix64& random) { return static_cast<int64_t>(random.Next()); }

Times AnyTimes(SplitMix64& random) {
  switch (random.NextBelow(4)) {
    case 0:
      return TimesBudget{};
    case 1:
      return TimesBatchSize{.power = AnyDouble(random), .at = AnyInteger(random)};
    case 2:
      return TimesParameter{"other \"quoted\""};
    default:
      return {};
  }
}

SpaceEntry AnyEntry(SplitMix64& random, const std::string& name) {
  SpaceEntry entry{.name = name, .times = AnyTimes(random)};
  switch (random.NextBelow(3)) {
    case 0:
      entry.kind = FixedEntry{AnyDouble(random)};
      break;
    case 1:
      entry.kind = ValuesEntry{AnyDoubles(random, random.NextBelow(4))};
      break;
    default:
      entry.kind =
          RangeEntry{.min = AnyDouble(random),
                     .max = AnyDouble(random),
                     .scale = static_cast<Scale>(random.NextBelow(3)),
                     .integer = random.NextBelow(2) == 1,
                     .count = random.NextBelow(2) == 1 ? std::optional<int64_t>(AnyInteger(random)) : std::nullopt};
  }
  return entry;
}

StudyDefinition AnyStudy(uint64_t seed) {
  SplitMix64 random(seed);
  StudyDefinition study;
  study.workload = {.dataset = "d\xc3\xa9",
                    .data = {{"flag", random.NextBelow(2) == 1}, {"whole", AnyInteger(random)}},
                    .model = "m",
                    .options = {{"number", AnyDouble(random)}, {"one", 1.0}, {"text", std::string("a\"\\\n")}},
                    .optimizer = "o",
                    .variant = "v"};
  study.batch_size = AnyInteger(random);
  study.training_examples = AnyInteger(random);
  study.budget_steps = AnyInteger(random);
  study.grid = {.kind = static_cast<EvaluationGrid::Kind>(random.NextBelow(3)),
                .ratio_millionths = AnyInteger(random),
                .first = AnyInteger(random),
                .every = AnyInteger(random),
                .at = {1, AnyInteger(random)}};
  study.metrics = {"train/loss", "val/loss"};
  study.schedule = "warmup_linear";
  study.precision = "float32";
  for (const char* name : {"a", "b", "c"}) study.space.push_back(AnyEntry(random, name));
  study.sampler = static_cast<SamplerKind>(random.NextBelow(4));
  study.search_seed = AnyInteger(random);
  study.shared_points = random.NextBelow(2) == 1;
  study.top_up = random.NextBelow(2) == 1;
  study.repeats = AnyInteger(random);
  study.split = "b";
  study.split_intervals = {{"val", 1}, {"test", AnyInteger(random)}};
  study.train_examples = AnyInteger(random);
  study.goals = {{"val/loss", static_cast<Goal::Comparison>(random.NextBelow(4)), AnyDouble(random)}};
  study.stop_exact = random.NextBelow(2) == 1;
  study.semantics = static_cast<Semantics>(random.NextBelow(2));
  study.keep = AnyInteger(random);
  study.needs = {.device = "cuda", .devices = AnyInteger(random), .memory_bytes = AnyInteger(random)};
  study.checkpoint_every = absl::Nanoseconds(AnyInteger(random) / 2);
  study.checkpoint_every_steps = AnyInteger(random);
  study.no_progress_timeout = absl::Nanoseconds(AnyInteger(random) / 2);
  study.points = AnyDoubles(random, 7);
  return study;
}

TEST(StudyJsonTest, RandomDefinitionsComeBackBitForBit) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const StudyDefinition study = AnyStudy(seed);
    const std::string json = ToJson(study);
    const auto back = StudyDefinitionFromJson(json);
    ASSERT_THAT(back, IsOk());
    ASSERT_EQ(*back, study) << json;
    // == takes the two zeros for equal; the text tells them apart.
    ASSERT_EQ(ToJson(*back), json);
  }
}

TEST(StudyJsonTest, NegativeZeroKeepsItsSign) {
  StudyDefinition study;
  study.points = {-0.0, 0.0};
  // jsonb's numbers have no negative zero.
  EXPECT_THAT(ToJson(study), HasSubstr("\"points\":[\"-0\",0.0]"));
  const auto back = StudyDefinitionFromJson(ToJson(study));
  ASSERT_THAT(back, IsOk());
  EXPECT_TRUE(std::signbit(back->points[0]));
  EXPECT_FALSE(std::signbit(back->points[1]));
}

TEST(StudyJsonTest, OtherTextIsDataLoss) {
  for (const char* text : {"", "{", "[]", "{}", "null", "{\"workload\": 5}"}) {
    EXPECT_THAT(StudyDefinitionFromJson(text), HasCode(absl::StatusCode::kDataLoss)) << text;
  }
  std::string json = ToJson(AnyStudy(1));
  json.replace(json.find("\"budget_steps\":"), 15, "\"budget_steps\":\"x\",\"y\":");
  EXPECT_THAT(StudyDefinitionFromJson(json), HasCode(absl::StatusCode::kDataLoss)) << "a number as text";
}

StudyDefinition SmallStudy() {
  StudyDefinition study;
  study.workload = {.dataset = "mnist", .model = "fc_64", .optimizer = "momentum"};
  study.batch_size = 32;
  study.space = {{"learning_rate", RangeEntry{.min = 1e-4, .max = 10, .scale = Scale::kLog}, {}},
                 {"momentum", FixedEntry{0.9}, {}}};
  return study;
}

TEST(SpaceHashTest, IsTheSameForTheSameSpaceWhateverElseDiffers) {
  const std::string hash = SpaceHash(SmallStudy());
  StudyDefinition other = SmallStudy();
  other.batch_size = 512;
  other.budget_steps = 7;
  other.search_seed = 9;
  other.grid.every = 3;
  other.workload.dataset = "fashion_mnist";
  std::swap(other.space[0], other.space[1]);
  EXPECT_EQ(SpaceHash(other), hash);
}

TEST(SpaceHashTest, DiffersInEverythingThatMakesASpace) {
  const std::string hash = SpaceHash(SmallStudy());
  const std::function<void(StudyDefinition&)> edits[] = {
      [](StudyDefinition& s) { std::get<RangeEntry>(s.space[0].kind).max = 11; },
      [](StudyDefinition& s) { std::get<RangeEntry>(s.space[0].kind).scale = Scale::kLinear; },
      [](StudyDefinition& s) { s.space[0].times = TimesBatchSize{.power = 0.5, .at = 256}; },
      [](StudyDefinition& s) { s.space[1].kind = FixedEntry{0.95}; },
      [](StudyDefinition& s) { s.space.pop_back(); },
      [](StudyDefinition& s) { s.sampler = SamplerKind::kRandom; },
      [](StudyDefinition& s) { s.schedule = "linear"; },
      [](StudyDefinition& s) { s.precision = "bfloat16"; },
  };
  for (const auto& edit : edits) {
    StudyDefinition other = SmallStudy();
    edit(other);
    EXPECT_NE(SpaceHash(other), hash);
  }
}

TEST(MakeSamplerTest, KeyIsTheSequencesOwn) {
  const StudyDefinition study = SmallStudy();
  const Sampler expected(study.space, SamplerKind::kHalton, SequenceKey(0, "mnist{}/fc_64{}/momentum", 32, ""));
  EXPECT_EQ(MakeSampler(study, std::nullopt).At(5, {}), expected.At(5, {}));
}

TEST(ToYamlTest, ShowsWhatWasResolved) {
  StudyDefinition study = SmallStudy();
  study.budget_steps = 100;
  study.metrics = {"val/classification_error"};
  study.split_intervals = {{"val", 1}};
  study.goals = {{"val/classification_error", Goal::Comparison::kLess, 0.1}};
  study.space.push_back({"learning_rate_decay_steps", RangeEntry{.min = 0.5, .max = 1}, TimesBudget{}});
  const std::string yaml = ToYaml(study, {study.batch_size});
  EXPECT_THAT(yaml, HasSubstr("workload: mnist/fc_64/momentum\nbatch_size: 32\nbudget: {steps: 100}\n"));
  EXPECT_THAT(yaml, HasSubstr("    learning_rate: {min: 1e-04, max: 10, scale: log}\n    momentum: 0.9\n"));
  EXPECT_THAT(yaml, HasSubstr("learning_rate_decay_steps: {min: 0.5, max: 1, scale: linear, times: budget}\n"));
  EXPECT_THAT(yaml, HasSubstr("evaluation: {geometric: 1.05, from: 1, splits: {val: 1}}\n"));
  EXPECT_THAT(yaml, HasSubstr("goals: [\"val/classification_error < 0.1\"]\n"));
}

}  // namespace
}  // namespace stepcurve
