// SPDX-License-Identifier: Apache-2.0
//
// Every mistake gets one line that names file, line and field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "client/sweep_file/file_error.h"
#include "client/sweep_file/sweep_file.h"

namespace stepcurve {
namespace {

struct Case {
  std::string name;
  std::string yaml;
  std::string error;  // Its beginning.
};

// For the names that ctest shows.
void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

class SweepFileErrorsTest : public ::testing::TestWithParam<Case> {};

TEST_P(SweepFileErrorsTest, SaysLineFieldAndWayOut) {
  const absl::StatusOr<SweepFile> file = ParseSweepFile(GetParam().yaml);
  ASSERT_FALSE(file.ok()) << file->spec.DebugString();
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  const std::string line = DescribeFileError("f.yaml", YamlNode(), file.status());
  EXPECT_THAT(line, ::testing::StartsWith(GetParam().error));
  EXPECT_THAT(line, ::testing::Not(::testing::HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Yaml, SweepFileErrorsTest,
    ::testing::Values(
        Case{"Empty", "", "f.yaml:1: the file is empty"},
        Case{"CommentAlone", "# nothing\n", "f.yaml:1: the file is empty"},
        Case{"NoMap", "fig1", "f.yaml:1: must be a map, not \"fig1\""},
        Case{"Broken", "name: a\ntags: [a\n", "f.yaml:3: not YAML: end of sequence flow not found"},
        Case{"Tab", "name: a\n\tpriority: 1\n", "f.yaml:"},
        Case{"TwoDocuments", "name: a\n---\nname: b\n", "f.yaml:3: a second document starts here"},
        Case{"Duplicate", "name: a\npriority: 1\nname: b\n", "f.yaml:3: name: given twice, first on line 1"},
        Case{"DuplicateInside", "search:\n  space: {a: 1,\n    a: 2}\n",
             "f.yaml:3: search.space.a: given twice, first on line 2"},
        Case{"Anchor", "name: a\ndescription: &x b\n", "f.yaml:2: description: anchors are refused"},
        Case{"AnchoredMap", "training: &x {schedule: linear}\n", "f.yaml:1: training: anchors are refused"},
        Case{"AliasAfterAnchor", "description: &x b\nname: *x\n", "f.yaml:1: description: anchors are refused"},
        Case{"Merge", "training: {<<: 1}", "f.yaml:1: training.<<: unknown field"},
        Case{"Tag", "priority: !!int 5", "f.yaml:1: priority: tags are refused"},
        Case{"OwnTag", "training: !mine {}", "f.yaml:1: training: tags are refused: \"!mine\""},
        Case{"KeyThatIsAList", "? [a]\n: b\n", "f.yaml:1: a key must be plain text"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Fields, SweepFileErrorsTest,
    ::testing::Values(
        Case{"Unknown", "name: a\nserach: {}\n",
             "f.yaml:2: serach: unknown field, nearest is search; the fields here are "},
        Case{"UnknownInside", "budget: {stps: 100}",
             "f.yaml:1: budget.stps: unknown field, nearest is steps; the fields here are steps, epochs, "},
        Case{"UnknownInWorkload", "workloads:\n- dataset: a\n- {datset: b}\n",
             "f.yaml:3: workloads[1].datset: unknown field, nearest is dataset"},
        Case{"UnknownInRange", "search: {space: {a: {min: 1, max: 2, scael: log}}}",
             "f.yaml:1: search.space.a.scael: unknown field, nearest is scale"},
        Case{"UnknownInOverride", "overrides: [{for: {}, stop: {exact: true}}]",
             "f.yaml:1: overrides[0].stop: unknown field"},
        Case{"CamelCase", "maxRunning: 5", "f.yaml:1: maxRunning: unknown field, nearest is max_running"},
        Case{"ContractsOwnName", "resources: {memory_bytes: 5}", "f.yaml:1: resources.memory_bytes: unknown field"},
        Case{"NullSection", "training:\nname: a\n", "f.yaml:1: training: must be a map, not nothing"},
        Case{"ListForSection", "training: []", "f.yaml:1: training: must be a map, not a list"},
        Case{"TextForMap", "budget: 100", "f.yaml:1: budget: must be a map, not the number 100"},
        Case{"MapForText", "name: {a: b}", "f.yaml:1: name: must be text, not a map"},
        Case{"NullForText", "name: ~", "f.yaml:1: name: must be text, not nothing"},
        Case{"NullForNumber", "priority: null", "f.yaml:1: priority: must be an integer, not nothing"},
        Case{"ListForNumber", "priority: [1]", "f.yaml:1: priority: must be an integer, not a list"},
        Case{"TextForList", "tags: paper", "f.yaml:1: tags: must be a list, not \"paper\""},
        Case{"TextForNumber", "priority: high", "f.yaml:1: priority: \"high\" is not a number"},
        Case{"Priority32Bits", "priority: 2147483648", "f.yaml:1: priority: 2147483648 is out of range"},
        Case{"YesForFlag", "stop: {exact: yes}", "f.yaml:1: stop.exact: must be true or false, not \"yes\""},
        Case{"QuotedFlag", "stop: {exact: \"true\"}",
             "f.yaml:1: stop.exact: must be true or false, not the quoted text \"true\""},
        Case{"NumberForFlag", "search: {top_up: 1}",
             "f.yaml:1: search.top_up: must be true or false, not the number 1"},
        Case{"NoNames", "workloads: [{dataset: []}]", "f.yaml:1: workloads[0].dataset: must not be an empty list"},
        Case{"MapForNames", "workloads: [{dataset: {a: b}}]",
             "f.yaml:1: workloads[0].dataset: must be a name or a list of names, not a map"},
        Case{"OptionList", "workloads: [{data: {a: [1]}}]",
             "f.yaml:1: workloads[0].data.a: must be true, false, a number or text, not a list"},
        Case{"OptionOctal", "workloads: [{data: {a: 010}}]", "f.yaml:1: workloads[0].data.a: \"010\" is not a number"},
        Case{"BatchSizesScalar", "batch_sizes: 64", "f.yaml:1: batch_sizes: must be a list such as"},
        Case{"BatchSizeText", "batch_sizes: [64,\n  large]",
             "f.yaml:2: batch_sizes[1]: must be an integer or full, not \"large\""},
        Case{"BatchSizeFraction", "batch_sizes: [1.5]", "f.yaml:1: batch_sizes[0]: 1.5 is not an integer"},
        Case{"FullTwice", "batch_sizes: [full, 2, full]", "f.yaml:1: batch_sizes[2]: full is given twice"},
        Case{"RangeWithoutTo", "batch_sizes: {from: 1, factor: 2}", "f.yaml:1: batch_sizes: to is missing"},
        Case{"SplitNumber", "evaluation: {splits: {val: a}}", "f.yaml:1: evaluation.splits.val: \"a\" is not a number"},
        Case{"StepsFraction", "budget: {steps: 1e-3}", "f.yaml:1: budget.steps: 1e-3 is not an integer"},
        Case{"StepsTooLarge", "budget: {steps: 9223372036854775808}",
             "f.yaml:1: budget.steps: 9223372036854775808 does not fit 64 bits"},
        Case{"StepsFarTooLarge", "budget: {steps: 1e30}", "f.yaml:1: budget.steps: 1e30 does not fit 64 bits"},
        Case{"BatchSizeKey", "budget: {per_batch_size: {small: 5}}",
             "f.yaml:1: budget.per_batch_size.small: the key must be a batch size: \"small\" is not a number"},
        Case{"BatchSizeKeyTwice", "budget: {per_batch_size: {100: 5, 1e2: 6}}",
             "f.yaml:1: budget.per_batch_size.1e2: 100 is given twice"},
        Case{"Memory", "resources: {memory: 40GB}", "f.yaml:1: resources.memory: \"40GB\" is no amount of memory"},
        Case{"MemoryFraction", "resources: {memory: 0.5}",
             "f.yaml:1: resources.memory: \"0.5\" is no amount of memory"},
        Case{"UnknownOnALaterLine", "checkpoint: {every: 30}\nstop: {}\nresources: {}\nsearch: {seed: 1, seeed: 2}",
             "f.yaml:4: search.seeed: unknown field, nearest is seed"},
        Case{"SpanUnit", "checkpoint: {every: 30x}", "f.yaml:1: checkpoint.every: \"30x\" is no span of time"},
        Case{"SpanNegative", "checkpoint: {every: -5m}", "f.yaml:1: checkpoint.every: \"-5m\" is no span of time"},
        Case{"SelectorBatchSize", "overrides: [{for: {batch_size: 64}}]",
             "f.yaml:1: overrides[0].for.batch_size: must be a list such as [64, full] or {from: 64, to: 512}"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Space, SweepFileErrorsTest,
    ::testing::Values(
        Case{"NullOutsideAnOverride", "search:\n  space:\n    momentum: null\n",
             "f.yaml:3: search.space.momentum: null removes a parameter, which only an override can"},
        Case{"List", "search: {space: {a: [1, 2]}}",
             "f.yaml:1: search.space.a: must be a number, {values: [...]} or {min: A, max: B}, not a list"},
        Case{"Text", "search: {space: {a: small}}", "f.yaml:1: search.space.a: \"small\" is not a number"},
        Case{"NoMax", "search: {space: {a: {min: 1}}}", "f.yaml:1: search.space.a: max is missing"},
        Case{"NoBounds", "search: {space: {a: {}}}", "f.yaml:1: search.space.a: min is missing"},
        Case{"ValuesAndRange", "search: {space: {a: {values: [1], max: 2}}}",
             "f.yaml:1: search.space.a: values and max exclude each other"},
        Case{"ValueText", "search: {space: {a: {values: [1,\n b]}}}",
             "f.yaml:2: search.space.a.values[1]: \"b\" is not a number"},
        Case{"CountZero", "search: {space: {a: {min: 1, max: 2, count: 0}}}",
             "f.yaml:1: search.space.a.count: 0; it must be at least 1"},
        Case{"ScaleEmpty", "search: {space: {a: {min: 1, max: 2, scale: \"\"}}}",
             "f.yaml:1: search.space.a.scale: must be linear, log or reverse_log"},
        Case{"TimesNumber", "search: {space: {a: {min: 1, max: 2, times: [1]}}}",
             "f.yaml:1: search.space.a.times: must be budget, a parameter or {batch_size: POWER, at: BATCH_SIZE}"},
        Case{"TimesWithoutAt", "search: {space: {a: {min: 1, max: 2, times: {batch_size: 1}}}}",
             "f.yaml:1: search.space.a.times: at is missing"},
        Case{"PointMissesOne", "search:\n  points:\n  - {a: 1, b: 2}\n  - {a: 1}\n",
             "f.yaml:4: search.points[1]: b is missing; every point names the same parameters (a, b)"},
        Case{"PointWithAnother", "search:\n  points:\n  - {a: 1}\n  - {a: 1, b: 2}\n",
             "f.yaml:4: search.points[1].b: the points before do not name it"},
        Case{"PointEmpty", "search: {points: [{}]}", "f.yaml:1: search.points[0]: names no parameter"},
        Case{"PointBatchSizeZero", "search: {points: [{a: 1, batch_size: 0}]}",
             "f.yaml:1: search.points[0].batch_size: 0; it must be at least 1"},
        Case{"PointNotAMap", "search: {points: [0.1]}",
             "f.yaml:1: search.points[0]: must be a map, not the number 0.1"}),
    [](const auto& info) { return info.param.name; });

// Every form of number where a real number is due, and the line it is on.
class NumberFormTest : public ::testing::TestWithParam<std::string> {};

TEST_P(NumberFormTest, IsRefusedWithItsLine) {
  const std::string yaml =
      "name: a\nsearch:\n  space:\n    learning_rate:\n      min: " + GetParam() + "\n      max: 1\n";
  const absl::StatusOr<SweepFile> file = ParseSweepFile(yaml);
  ASSERT_FALSE(file.ok()) << file->spec.DebugString();
  EXPECT_THAT(DescribeFileError("f.yaml", YamlNode(), file.status()),
              ::testing::StartsWith("f.yaml:5: search.space.learning_rate.min: "));
}

INSTANTIATE_TEST_SUITE_P(Refused, NumberFormTest,
                         ::testing::Values("\"1e-3\"", "'1'", "1_000", "0x10", "010", "yes", "null", "~", ".nan",
                                           ".inf", "-.inf", "+1", "1e400", "1e-400", "1,5", "|\n        1", "[1]",
                                           "{a: 1}", "true", "\"NaN\"", "1e", "!!float 1"));

TEST(QuotedNumberTest, IsToldToLoseItsQuotes) {
  const absl::StatusOr<SweepFile> file = ParseSweepFile("budget: {epochs: \"4\"}");
  EXPECT_EQ(DescribeFileError("f.yaml", YamlNode(), file.status()),
            "f.yaml:1: budget.epochs: a quoted number is refused; write 4 without quotes");
}

TEST(ServerErrorTest, IsPrintedWithTheLineOfItsField) {
  const absl::StatusOr<SweepFile> file =
      ParseSweepFile("name: a\nsearch:\n  trials: 5\n  space:\n    learning_rate: 1\n    momentum: 2\n");
  ASSERT_TRUE(file.ok()) << file.status();
  absl::Status status = absl::InvalidArgumentError("optimizer sgd has no momentum");
  EXPECT_EQ(DescribeFileError("fig1.yaml", file->root, status), "fig1.yaml:1: optimizer sgd has no momentum");
  status.SetPayload("stepcurve.field", absl::Cord("search.space.momentum"));
  EXPECT_EQ(FieldOf(status), "search.space.momentum");
  EXPECT_EQ(DescribeFileError("fig1.yaml", file->root, status),
            "fig1.yaml:6: search.space.momentum: optimizer sgd has no momentum");
}

TEST(DeepNestingTest, IsRefused) {
  EXPECT_FALSE(ParseSweepFile(std::string(100'000, '[')).ok());
  EXPECT_FALSE(ParseSweepFile("name: " + std::string(400, '[') + std::string(400, ']')).ok());
}

}  // namespace
}  // namespace stepcurve
