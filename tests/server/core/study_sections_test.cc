// SPDX-License-Identifier: Apache-2.0
#include "server/core/study_sections.h"

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;

const Workload kMomentumOnMnist{.dataset = "mnist", .model = "fc_64", .optimizer = "nesterov_momentum", .variant = "v"};

TEST(SelectsTest, NamesPatternsAndBatchSizes) {
  struct Case {
    SelectorSpec selector;
    int64_t batch_size;
    bool selected;
  };
  const Case rows[] = {
      {{}, 8, true},
      {{.dataset = {"mnist"}}, 8, true},
      {{.dataset = {"fashion_mnist"}}, 8, false},
      {{.dataset = {"fashion_mnist", "mnist"}}, 8, true},
      {{.dataset = {"*mnist"}}, 8, true},
      {{.dataset = {"fashion*"}}, 8, false},
      {{.model = {"fc_*"}}, 8, true},
      {{.model = {"fc"}}, 8, false},
      {{.optimizer = {"*momentum"}}, 8, true},
      {{.optimizer = {"n*_m*m"}}, 8, true},
      {{.optimizer = {"n*x*m"}}, 8, false},
      {{.optimizer = {"*"}}, 8, true},
      {{.variant = {"v"}}, 8, true},
      {{.variant = {"w"}}, 8, false},
      {{.dataset = {"mnist"}, .optimizer = {"sgd"}}, 8, false},
      {{.batch_sizes = {8, 16}}, 16, true},
      {{.batch_sizes = {8, 16}}, 32, false},
      {{.batch_size_from = 8, .batch_size_to = 32}, 8, true},
      {{.batch_size_from = 8, .batch_size_to = 32}, 32, true},
      {{.batch_size_from = 8, .batch_size_to = 32}, 33, false},
      {{.batch_size_from = 8}, 7, false},
      {{.batch_size_from = 8}, 55000, true},
      {{.batch_size_to = 8}, 1, true},
      {{.full = true}, 55000, true},
      {{.full = true}, 8, false},
      {{.batch_sizes = {8}, .full = true}, 8, true},
      {{.batch_sizes = {8}, .full = true}, 55000, true},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(Selects(rows[i].selector, {&kMomentumOnMnist, 55000, rows[i].batch_size}), rows[i].selected)
        << "row " << i;
  }
}

OverrideSpec For(SelectorSpec selector) { return {.selector = std::move(selector)}; }

TEST(OverridesTest, SectionsAreReplacedWhole) {
  SweepSpec spec = SgdSpec();
  spec.budget = BudgetSpec{.epochs = 4, .at_least = 600};
  spec.training = {.schedule = "linear"};
  OverrideSpec over = For({.batch_sizes = {100}});
  over.budget = BudgetSpec{.epochs = 1};
  over.training = TrainingSpec{};
  over.evaluation = EvaluationSpec{.every = 7};
  over.goals = std::vector<std::string>{"test/classification_error < 0.5"};
  over.resources = ResourcesSpec{.device = "cuda"};
  over.checkpoint = CheckpointSpec{.every_steps = 3};
  spec.overrides = {over};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& study = plan->studies[0].definition;
  EXPECT_EQ(study.budget_steps, 550) << "at_least went with its section";
  EXPECT_EQ(study.schedule, "constant");
  EXPECT_EQ(study.grid.every, 7);
  ASSERT_EQ(study.goals.size(), 1u);
  EXPECT_EQ(study.goals[0].metric, "test/classification_error");
  EXPECT_EQ(study.needs.device, "cuda");
  EXPECT_EQ(study.checkpoint_every_steps, 3);
  EXPECT_EQ(study.checkpoint_every, absl::ZeroDuration());
  EXPECT_THAT(plan->goals, ElementsAre("val/classification_error < 0.1")) << "the sweep's own";
}

TEST(OverridesTest, SearchMergesByKeyAndSpaceByParameterAndTheLaterWins) {
  SweepSpec spec = SgdSpec();
  spec.search.seed = 7;
  spec.search.space = {LearningRate(), Fixed("weight_decay", 1e-4), Fixed("label_smoothing", 0.1)};
  OverrideSpec first = For({});
  first.search = SearchSpec{.trials = 20, .space = {Fixed("weight_decay", 1e-3), Removed("label_smoothing")}};
  OverrideSpec second = For({.optimizer = {"sgd"}});
  second.search = SearchSpec{.trials = 30, .space = {Fixed("gradient_clip", 1)}};
  OverrideSpec third = For({.full = true});
  third.search = SearchSpec{.trials = 40};
  spec.overrides = {first, second, third};
  spec.batch_sizes->full = true;
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  const StudyDefinition& study = plan->studies[0].definition;
  EXPECT_EQ(study.search_seed, 7);
  EXPECT_THAT(study.ParameterNames(), ElementsAre("learning_rate", "weight_decay", "gradient_clip"));
  EXPECT_EQ(study.space[1].kind, (decltype(study.space[1].kind){FixedEntry{1e-3}}));
  EXPECT_EQ(plan->studies[0].strands[0].wanted, 30);
  EXPECT_EQ(plan->studies[1].strands[0].wanted, 40);
}

TEST(OverridesTest, WorkloadsMayHaveTheirOwnBatchSizes) {
  SweepSpec spec = GoodSpec();
  spec.overrides[0].batch_sizes = BatchSizesSpec{.sizes = {8}};
  const auto plan = PlanSweep(spec);
  ASSERT_THAT(plan, IsOk());
  ASSERT_EQ(plan->studies.size(), 3u);
  EXPECT_EQ(plan->studies[2].definition.batch_size, 8);
}

TEST(OverridesTest, OfBatchSizesAloneIsUsed) {
  SweepSpec spec = SgdSpec();
  OverrideSpec over = For({.dataset = {"mnist"}});
  over.batch_sizes = BatchSizesSpec{.sizes = {8}};
  spec.overrides = {over};
  EXPECT_THAT(PlanSweep(spec), IsOk());
}

class OverridesRefusedTest : public ::testing::TestWithParam<RefusedCase> {};
TEST_P(OverridesRefusedTest, Says) { ExpectRefused(GoodSpec(), GetParam()); }

void Add(SweepSpec& spec, OverrideSpec over) { spec.overrides.push_back(std::move(over)); }

INSTANTIATE_TEST_SUITE_P(
    All, OverridesRefusedTest,
    ::testing::Values(
        RefusedCase{"UnknownOptimizer", [](SweepSpec& s) { Add(s, For({.optimizer = {"adamw"}})); }, "overrides[1].for",
                    "optimizer adamw matches no workload of this sweep (sgd, momentum)"},
        RefusedCase{"PatternOfNothing", [](SweepSpec& s) { Add(s, For({.model = {"simple_*"}})); }, "overrides[1].for",
                    "model simple_* matches no workload of this sweep (fc_64)"},
        RefusedCase{"OtherDataset", [](SweepSpec& s) { Add(s, For({.dataset = {"fashion_mnist"}})); },
                    "overrides[1].for", "dataset fashion_mnist matches no workload"},
        RefusedCase{"Variant", [](SweepSpec& s) { Add(s, For({.variant = {"x"}})); }, "overrides[1].for", "variant x"},
        RefusedCase{"BatchSize", [](SweepSpec& s) { Add(s, For({.batch_sizes = {64}})); }, "overrides[1].for",
                    "batch_size matches no study of this sweep (its batch sizes are 32, 512)"},
        RefusedCase{"Full", [](SweepSpec& s) { Add(s, For({.full = true})); }, "overrides[1].for",
                    "batch_size matches no"},
        RefusedCase{"EmptyRange", [](SweepSpec& s) { Add(s, For({.batch_size_from = 600})); }, "overrides[1].for",
                    "batch_size"},
        RefusedCase{"NoSingleOne",
                    [](SweepSpec& s) {
                      s.workloads.push_back({.dataset = {"fashion_mnist"}, .model = {"fc_8"}, .optimizer = {"sgd"}});
                      Add(s, For({.dataset = {"fashion_mnist"}, .model = {"fc_64"}}));
                    },
                    "overrides[1].for", "no single one has all of these names"},
        RefusedCase{"ListAndRange", [](SweepSpec& s) { Add(s, For({.batch_sizes = {32}, .batch_size_to = 64})); },
                    "overrides[1].for.batch_size", "both a list and a range"},
        RefusedCase{"BatchSizesForBatchSizes",
                    [](SweepSpec& s) {
                      OverrideSpec over = For({.batch_sizes = {32}});
                      over.batch_sizes = BatchSizesSpec{.sizes = {8}};
                      Add(s, over);
                    },
                    "overrides[1].batch_sizes", "selects workloads alone"},
        RefusedCase{"BatchSizesTooLarge",
                    [](SweepSpec& s) { s.overrides[0].batch_sizes = BatchSizesSpec{.sizes = {55001}}; },
                    "overrides[0].batch_sizes", "above the training set"},
        RefusedCase{"ParameterOfAnotherOptimizer", [](SweepSpec& s) { s.overrides[0].selector.optimizer = {"*"}; },
                    "overrides[0].search.space.momentum", "optimizer sgd has no momentum"},
        RefusedCase{"RemovedThatIsNotThere",
                    [](SweepSpec& s) { s.overrides[0].search->space.push_back(Removed("weight_decay")); },
                    "overrides[0].search.space.weight_decay", "no such parameter to remove"},
        RefusedCase{"RemovedThatIsRequired",
                    [](SweepSpec& s) { s.overrides[0].search->space.push_back(Removed("learning_rate")); },
                    "search.space", "has no learning_rate, which optimizer momentum requires"},
        RefusedCase{"BudgetThere", [](SweepSpec& s) { s.overrides[0].budget = BudgetSpec{.steps = 0}; },
                    "overrides[0].budget.steps", "is 0"},
        RefusedCase{"TrialsThere", [](SweepSpec& s) { s.overrides[0].search->trials = 0; },
                    "overrides[0].search.trials", "is 0"},
        RefusedCase{"GoalThere",
                    [](SweepSpec& s) { s.overrides[0].goals = std::vector<std::string>{"val/accuracy > 0.9"}; },
                    "overrides[0].goals[0]", "val/accuracy"},
        RefusedCase{"ScheduleThere", [](SweepSpec& s) { s.overrides[0].training = TrainingSpec{.schedule = "x"}; },
                    "overrides[0].training.schedule", "unknown schedule"},
        RefusedCase{"EvaluationThere", [](SweepSpec& s) { s.overrides[0].evaluation = EvaluationSpec{.every = 0}; },
                    "overrides[0].evaluation.every", "is 0"}),
    CaseName);

// A goal is an error where the workload lacks its metric, unless it stands in an override for other workloads.
TEST(OverridesTest, GoalsOfTwoTasksGoIntoOverrides) {
  SweepSpec spec = SgdSpec();
  spec.workloads.push_back({.dataset = {"quadratic"}, .model = {"noisy_quadratic"}, .optimizer = {"sgd"}});
  ExpectRefused(spec, {"", [](SweepSpec&) {}, "goals[0]", "quadratic/noisy_quadratic/sgd does not measure"});
  OverrideSpec over = For({.dataset = {"quadratic"}});
  over.goals = std::vector<std::string>{"val/loss < 0.01"};
  spec.overrides = {over};
  EXPECT_THAT(PlanSweep(spec), IsOk());
}

}  // namespace
}  // namespace stepcurve
