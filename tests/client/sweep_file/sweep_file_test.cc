// SPDX-License-Identifier: Apache-2.0
//
// What sweep files mean, and that what is printed means the same.
#include "client/sweep_file/sweep_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "client/sweep_file/spec_yaml.h"

namespace stepcurve {
namespace {

struct Case {
  std::string name;
  std::string yaml;
  // In protobuf's text format.
  std::string spec;
};

// For the names that ctest shows.
void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

v1::SweepSpec FromText(const std::string& text) {
  v1::SweepSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

class SweepFileTest : public ::testing::TestWithParam<Case> {};

TEST_P(SweepFileTest, MeansThisSpecAndPrintsBackAsIt) {
  const Case& row = GetParam();
  const absl::StatusOr<SweepFile> file = ParseSweepFile(row.yaml);
  ASSERT_TRUE(file.ok()) << file.status();
  const v1::SweepSpec wanted = FromText(row.spec);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(file->spec, wanted)) << file->spec.DebugString();

  const std::string printed = SpecYaml(file->spec);
  const absl::StatusOr<SweepFile> again = ParseSweepFile(printed);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(again->spec, wanted)) << printed;
  EXPECT_EQ(SpecYaml(again->spec), printed);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, SweepFileTest,
    ::testing::Values(
        Case{"Name", "name: fig1", "name: 'fig1'"}, Case{"NameOfDigits", "name: 12", "name: '12'"},
        Case{"QuotedText", "description: \"a: b # c\"", "description: 'a: b # c'"},
        Case{"BlockText", "description: |\n  two\n  lines\n", "description: 'two\\nlines\\n'"},
        Case{"TextThatLooksLikeAnother", "description: \"null\"\ntags: [\"true\", \"1e3\", \"\"]",
             "description: 'null' tags: ['true', '1e3', '']"},
        Case{"Utf8", "description: Größe", "description: 'Gr\\303\\266\\303\\237e'"},
        Case{"Tags", "tags: [paper, imagenet]", "tags: ['paper', 'imagenet']"},
        Case{"Priority", "priority: -5", "priority: -5"}, Case{"MaxRunning", "max_running: 32", "max_running: 32"},
        Case{"MaxRunningZeroIsTheServersToRefuse", "max_running: 0", "max_running: 0"},
        Case{"Version", "version: 1", "version: 1"},
        Case{"WorkloadNames", "workloads: [{dataset: mnist, model: [a, b], optimizer: [sgd]}]",
             "workloads { dataset: 'mnist' model: ['a', 'b'] optimizer: 'sgd' }"},
        Case{"Options",
             "workloads: [{data: {image_size: 224, flip: true, rate: 0.5, whole: 2.0, kind: crop, text: \"3\"}}]",
             "workloads { data { name: 'image_size' integer: 224 } data { name: 'flip' flag: true } "
             "data { name: 'rate' number: 0.5 } data { name: 'whole' number: 2 } data { name: 'kind' text: 'crop' } "
             "data { name: 'text' text: '3' } }"},
        Case{"Variant", "workloads: [{options: {ghost_batch_size: 32}, variant: crop-flip}]",
             "workloads { options { name: 'ghost_batch_size' integer: 32 } variant: 'crop-flip' }"},
        Case{"BatchSizeList", "batch_sizes: [2, 8, full, 1e3]", "batch_sizes { sizes: [2, 8, 1000] full: true }"},
        Case{"BatchSizeListEmpty", "batch_sizes: []", "batch_sizes {}"},
        Case{"BatchSizeRange", "batch_sizes: {from: 64, to: 65536, factor: 1.5, also: [full, 7]}",
             "batch_sizes { range { from: 64 to: 65536 factor: 1.5 } sizes: 7 full: true }"},
        Case{"Training", "training: {schedule: warmup_linear, precision: tf32}",
             "training { schedule: 'warmup_linear' precision: 'tf32' }"},
        Case{"EmptySections", "training: {}\nsearch: {}\nbudget: {}\nstop: {}\noverrides: [{}]",
             "training {} search {} budget {} stop {} overrides {}"},
        Case{"Search",
             "search: {sampler: random, seed: 9223372036854775807, trials: 100, max_trials: 1e6, top_up: false, "
             "split: label_smoothing, repeats: 3, points_across_batch_sizes: shared}",
             "search { sampler: 'random' seed: 9223372036854775807 trials: 100 max_trials: 1000000 top_up: false "
             "split: 'label_smoothing' repeats: 3 points_across_batch_sizes: 'shared' }"},
        Case{"SpaceFixed", "search: {space: {weight_decay: 1e-4}}",
             "search { space { name: 'weight_decay' fixed: 1e-4 } }"},
        Case{"SpaceValues", "search: {space: {label_smoothing: {values: [0, 0.01, .1]}}}",
             "search { space { name: 'label_smoothing' values { values: [0, 0.01, 0.1] } } }"},
        Case{"SpaceRange", "search: {space: {b: {min: 1, max: 8, scale: log, integer: true, count: 4}, a: 1}}",
             "search { space { name: 'b' range { min: 1 max: 8 scale: 'log' integer: true count: 4 } } "
             "space { name: 'a' fixed: 1 } }"},
        Case{"SpaceOneThird", "search: {space: {a: {min: 0.3333333333333333, max: 1e-320}}}",
             "search { space { name: 'a' range { min: 0.3333333333333333 max: 1e-320 } } }"},
        Case{"Times",
             "search: {space: {a: {min: 0, max: 1, times: budget}, b: {values: [1], times: epsilon}, "
             "c: {min: 0, max: 1, times: {batch_size: 0.5, at: 256}}}}",
             "search { space { name: 'a' range { min: 0 max: 1 } times { budget: true } } "
             "space { name: 'b' values { values: 1 } times { parameter: 'epsilon' } } "
             "space { name: 'c' range { min: 0 max: 1 } times { batch_size { power: 0.5 at: 256 } } } }"},
        Case{"Points", "search: {points: [{learning_rate: 0.1, momentum: 0.9}, {momentum: 0.8, learning_rate: 1}]}",
             "search { points { names: ['learning_rate', 'momentum'] values: [0.1, 0.9, 1, 0.8] } }"},
        Case{"PointsOfOneBatchSize", "search: {points: [{a: 1}, {a: 2, batch_size: 64}]}",
             "search { points { names: 'a' values: [1, 2] batch_sizes: [0, 64] } }"},
        Case{"PointsNone", "search: {points: []}", "search { points {} }"},
        Case{"BudgetSteps", "budget: {steps: 1e3}", "budget { steps: 1000 }"},
        Case{"BudgetEpochs", "budget: {epochs: 0.5, at_least: 8000, at_most: 2400000}",
             "budget { epochs: 0.5 at_least: 8000 at_most: 2400000 }"},
        Case{
            "BudgetPerBatchSize", "budget: {per_batch_size: {64: 500, 16: 2000000}}",
            "budget { per_batch_size { batch_size: 64 steps: 500 } per_batch_size { batch_size: 16 steps: 2000000 } }"},
        Case{"EvaluationGeometric", "evaluation: {geometric: 1.05, from: 10}",
             "evaluation { geometric: 1.05 from: 10 }"},
        Case{"EvaluationEvery", "evaluation: {every: 1}", "evaluation { every: 1 }"},
        Case{"EvaluationEpochs", "evaluation: {epochs: .25}", "evaluation { epochs: 0.25 }"},
        Case{"EvaluationAt", "evaluation: {at: [1, 10, 100], train_examples: 5000}",
             "evaluation { at: [1, 10, 100] train_examples: 5000 }"},
        Case{"EvaluationSplits", "evaluation: {splits: {val: 1, train: 4}}",
             "evaluation { splits { split: 'val' every: 1 } splits { split: 'train' every: 4 } }"},
        Case{"Goals", "goals: [\"val/classification_error < 0.1\", val/loss <= 1]",
             "goals: ['val/classification_error < 0.1', 'val/loss <= 1']"},
        Case{"Stop", "stop: {exact: true, semantics: published, keep: 5}",
             "stop { exact: true semantics: 'published' keep: 5 }"},
        Case{"Resources", "resources: {device: cuda, devices: 8, memory: 40GiB}",
             "resources { device: 'cuda' devices: 8 memory_bytes: 42949672960 }"},
        Case{"MemoryInBytes", "resources: {memory: 1000}", "resources { memory_bytes: 1000 }"},
        Case{"CheckpointSpan", "checkpoint: {every: 1h30m}", "checkpoint { every { seconds: 5400 } }"},
        Case{"CheckpointSteps", "checkpoint: {every: 500}", "checkpoint { every_steps: 500 }"},
        Case{"OverrideSelector",
             "overrides: [{for: {dataset: mnist, model: [a, b], optimizer: \"*momentum\", variant: x, "
             "batch_size: [64, full]}}, {for: {batch_size: {from: 64}}}]",
             "overrides { for { dataset: 'mnist' model: ['a', 'b'] optimizer: '*momentum' variant: 'x' "
             "batch_sizes: 64 full: true } } overrides { for { batch_size_from: 64 } }"},
        Case{
            "OverrideSections",
            "overrides:\n- training: {schedule: linear}\n  search: {trials: 200, space: {momentum: null, a: ~, b: }}\n"
            "  budget: {steps: 5}\n  evaluation: {every: 2}\n  goals: []\n  resources: {device: cpu}\n"
            "  checkpoint: {every: 10m}\n  batch_sizes: [1]\n",
            "overrides { training { schedule: 'linear' } search { trials: 200 space { name: 'momentum' removed: true } "
            "space { name: 'a' removed: true } space { name: 'b' removed: true } } budget { steps: 5 } "
            "evaluation { every: 2 } goals {} resources { device: 'cpu' } checkpoint { every { seconds: 600 } } "
            "batch_sizes { sizes: 1 } }"}),
    [](const auto& info) { return info.param.name; });

// Whole files, as the manual shows them.
constexpr char kEverything[] = R"yaml(
name: r50-imagenet                     # [a-z0-9._-], 1-63 characters, unique
description: figure 1, panel 4
tags: [paper, imagenet]
priority: 0
max_running: 32
workloads:
  - dataset: imagenet
    model: resnet_50
    optimizer: nesterov_momentum
    data: {image_size: 224, augmentation: crop_flip}
    options: {ghost_batch_size: 32}
    variant: crop-flip
batch_sizes: {from: 64, to: 65536, factor: 2, also: [full]}
training: {schedule: linear, precision: float32}
search:
  sampler: halton
  seed: 1
  trials: 100
  max_trials: 1000
  top_up: true
  split: label_smoothing
  space:
    learning_rate: {min: 1e-4, max: 10, scale: log}
    momentum: {min: 0.9, max: 0.9999, scale: reverse_log}
    learning_rate_decay_steps: {min: 0.5, max: 1, times: budget}
    end_learning_rate_factor: {min: 1e-4, max: 0.1, scale: log}
    label_smoothing: {values: [0, 0.01, 0.1]}
    weight_decay: 1e-4
budget: {epochs: 90, at_least: 8000, at_most: 2400000}
evaluation: {geometric: 1.05}
goals: ["val/classification_error < 0.25"]
stop: {exact: true, semantics: reached, keep: 5}
resources: {device: cuda, devices: 8, memory: 40GiB}
checkpoint: {every: 30m}
overrides:
  - for: {batch_size: [32768, 65536]}
    search: {trials: 200, space: {learning_rate: {min: 1e-2, max: 30, scale: log}}}
)yaml";

TEST(WholeFileTest, PrintsBackInTheSameOrderWithTheSameNumbers) {
  const absl::StatusOr<SweepFile> file = ParseSweepFile(kEverything);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(SpecYaml(file->spec), R"yaml(name: r50-imagenet
description: "figure 1, panel 4"
tags: [paper, imagenet]
max_running: 32
workloads:
  - {dataset: imagenet, model: resnet_50, optimizer: nesterov_momentum, data: {image_size: 224, augmentation: crop_flip}, options: {ghost_batch_size: 32}, variant: crop-flip}
batch_sizes: {from: 64, to: 65536, factor: 2, also: [full]}
training: {schedule: linear, precision: float32}
search:
  sampler: halton
  seed: 1
  trials: 100
  max_trials: 1000
  top_up: true
  split: label_smoothing
  space:
    learning_rate: {min: 1e-4, max: 10, scale: log}
    momentum: {min: 0.9, max: 0.9999, scale: reverse_log}
    learning_rate_decay_steps: {min: 0.5, max: 1, times: budget}
    end_learning_rate_factor: {min: 1e-4, max: 0.1, scale: log}
    label_smoothing: {values: [0, 0.01, 0.1]}
    weight_decay: 1e-4
budget: {epochs: 90, at_least: 8000, at_most: 2400000}
evaluation: {geometric: 1.05}
goals: ["val/classification_error < 0.25"]
stop: {exact: true, semantics: reached, keep: 5}
resources: {device: cuda, devices: 8, memory: 40GiB}
checkpoint: {every: 30m}
overrides:
  - for: {batch_size: [32768, 65536]}
    search:
      trials: 200
      space:
        learning_rate: {min: 0.01, max: 30, scale: log}
)yaml");
}

TEST(WholeFileTest, FindsTheLineOfEveryFieldThatAServerNames) {
  const absl::StatusOr<SweepFile> file = ParseSweepFile(kEverything);
  ASSERT_TRUE(file.ok()) << file.status();
  const YamlNode& root = file->root;
  EXPECT_EQ(root.LineOf("name"), 2);
  EXPECT_EQ(root.LineOf("workloads"), 7);
  EXPECT_EQ(root.LineOf("workloads[0]"), 8);
  EXPECT_EQ(root.LineOf("workloads[0].optimizer"), 10);
  EXPECT_EQ(root.LineOf("workloads[0].data.augmentation"), 11);
  EXPECT_EQ(root.LineOf("search.space.momentum"), 25);
  EXPECT_EQ(root.LineOf("search.space.momentum.max"), 25);
  EXPECT_EQ(root.LineOf("overrides[0].search.space.learning_rate.min"), 38);
  // What is not in the file is looked for around it.
  EXPECT_EQ(root.LineOf("search.space.epsilon"), 23);
  EXPECT_EQ(root.LineOf("budget.per_batch_size"), 30);
  EXPECT_EQ(root.LineOf("overrides[7].for"), 36);
  EXPECT_EQ(root.LineOf("nonsense"), 1);
  EXPECT_EQ(root.LineOf(""), 1);
  EXPECT_EQ(root.LineOf("overrides[x"), 36);
}

}  // namespace
}  // namespace stepcurve
