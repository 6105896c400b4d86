// SPDX-License-Identifier: Apache-2.0
#include "server/core/canonical_text.h"

#include "tests/server/core/builders.h"

namespace stepcurve {
namespace {

TEST(CanonicalTextTest, ListsWhatIsWrittenAndNoDefault) {
  EXPECT_EQ(CanonicalText(GoodSpec()),
            "name: good\n"
            "workloads[0].dataset: [mnist]\n"
            "workloads[0].model: [fc_64]\n"
            "workloads[0].optimizer: [sgd, momentum]\n"
            "batch_sizes: [32, 512]\n"
            "search.trials: 10\n"
            "search.space.learning_rate: 1e-04 to 10 log\n"
            "budget.steps: 1000\n"
            "goals[0]: val/classification_error < 0.1\n"
            "overrides[0].for.optimizer: [momentum]\n"
            "overrides[0].search: given\n"
            "overrides[0].search.space.momentum: 0.9 to 0.9999 reverse_log\n");
}

struct EditCase {
  const char* name;
  std::function<void(SweepSpec&)> edit;
  const char* difference;  // Empty: the same sweep.
};
void PrintTo(const EditCase& row, std::ostream* out) { *out << row.name; }

class EditTest : public ::testing::TestWithParam<EditCase> {};

TEST_P(EditTest, FirstDifference) {
  const SweepSpec old = GoodSpec();
  SweepSpec changed = old;
  GetParam().edit(changed);
  EXPECT_EQ(FirstDifference(old, changed), GetParam().difference);
  EXPECT_EQ(FirstDifference(changed, old), GetParam().difference);
  EXPECT_EQ(SpecDigest(old) == SpecDigest(changed), std::string(GetParam().difference).empty());
}

INSTANTIATE_TEST_SUITE_P(TheSame, EditTest,
                         ::testing::Values(EditCase{"Nothing", [](SweepSpec&) {}, ""},
                                           EditCase{"Description", [](SweepSpec& s) { s.description = "x"; }, ""},
                                           EditCase{"Tags", [](SweepSpec& s) { s.tags = {"x"}; }, ""},
                                           EditCase{"Priority", [](SweepSpec& s) { s.priority = 5; }, ""},
                                           EditCase{"MaxRunning", [](SweepSpec& s) { s.max_running = 5; }, ""},
                                           EditCase{"Version", [](SweepSpec& s) { s.version = 1; }, ""},
                                           EditCase{"DefaultsWrittenOut",
                                                    [](SweepSpec& s) {
                                                      s.search.sampler = "halton", s.search.seed = 0,
                                                      s.search.top_up = true, s.search.repeats = 1;
                                                      s.search.points_across_batch_sizes = "independent";
                                                      s.training = {.schedule = "constant", .precision = "float32"};
                                                      s.evaluation.geometric = 1.05;
                                                      s.stop.exact = false, s.stop.keep = 1;
                                                      s.resources = {.device = "any", .devices = 1};
                                                      s.checkpoint.every = absl::Minutes(10);
                                                    },
                                                    ""},
                                           EditCase{"OrderOfBatchSizes",
                                                    [](SweepSpec& s) {
                                                      s.batch_sizes->sizes = {512, 32};
                                                    },
                                                    ""},
                                           EditCase{"SpellingOfAGoal",
                                                    [](SweepSpec& s) { s.goals = {"val/classification_error<1e-1"}; },
                                                    ""}),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Another, EditTest,
    ::testing::Values(
        EditCase{"Name", [](SweepSpec& s) { s.name = "other"; }, "name"},
        EditCase{"Space", [](SweepSpec& s) { std::get<RangeSpec>(s.search.space[0].kind).min = 2e-4; },
                 "search.space.learning_rate"},
        EditCase{"OneBit", [](SweepSpec& s) { std::get<RangeSpec>(s.search.space[0].kind).max = 10.000000000000002; },
                 "search.space.learning_rate"},
        EditCase{"AddedParameter", [](SweepSpec& s) { s.search.space.push_back(Fixed("weight_decay", 0)); },
                 "search.space.weight_decay"},
        EditCase{"AddedParameterInFront",
                 [](SweepSpec& s) { s.search.space.insert(s.search.space.begin(), Fixed("weight_decay", 0)); },
                 "search.space.weight_decay"},
        EditCase{"Times", [](SweepSpec& s) { s.search.space[0].times = TimesBatchSizeSpec{.power = 0.5, .at = 256}; },
                 "search.space.learning_rate"},
        EditCase{"BatchSizes",
                 [](SweepSpec& s) {
                   s.batch_sizes->sizes = {32, 512, 1024};
                 },
                 "batch_sizes"},
        EditCase{"Full", [](SweepSpec& s) { s.batch_sizes->full = true; }, "batch_sizes"},
        EditCase{"Trials", [](SweepSpec& s) { s.search.trials = 11; }, "search.trials"},
        EditCase{"Seed", [](SweepSpec& s) { s.search.seed = 1; }, "search.seed"},
        EditCase{"TopUp", [](SweepSpec& s) { s.search.top_up = false; }, "search.top_up"},
        EditCase{"Model", [](SweepSpec& s) { s.workloads[0].model = {"fc_128"}; }, "workloads[0].model"},
        EditCase{"OptimizerOrder",
                 [](SweepSpec& s) {
                   s.workloads[0].optimizer = {"momentum", "sgd"};
                 },
                 "workloads[0].optimizer"},
        EditCase{"AddedWorkload",
                 [](SweepSpec& s) {
                   s.workloads.push_back({.dataset = {"fashion_mnist"}, .model = {"fc_8"}, .optimizer = {"sgd"}});
                 },
                 "workloads[1].dataset"},
        EditCase{"Budget", [](SweepSpec& s) { s.budget->at_least = 5; }, "budget.at_least"},
        EditCase{"Evaluation",
                 [](SweepSpec& s) {
                   s.evaluation.splits = {{"val", 1}};
                 },
                 "evaluation.splits.val"},
        EditCase{"Goal", [](SweepSpec& s) { s.goals[0] = "val/classification_error < 0.2"; }, "goals[0]"},
        EditCase{"AnotherGoal", [](SweepSpec& s) { s.goals.push_back("val/classification_error < 0.2"); }, "goals[1]"},
        EditCase{"Semantics", [](SweepSpec& s) { s.stop.semantics = "reached"; }, "stop.semantics"},
        EditCase{"Memory", [](SweepSpec& s) { s.resources.memory_bytes = 1; }, "resources.memory"},
        EditCase{"Checkpoint", [](SweepSpec& s) { s.checkpoint.every = absl::Minutes(5); }, "checkpoint.every"},
        EditCase{"OverrideEntry", [](SweepSpec& s) { s.overrides[0].search->space[0] = Removed("momentum"); },
                 "overrides[0].search.space.momentum"},
        EditCase{"EmptySectionInAnOverride", [](SweepSpec& s) { s.overrides[0].training = TrainingSpec{}; },
                 "overrides[0].training"},
        EditCase{"DefaultInAnOverride", [](SweepSpec& s) { s.overrides[0].search->top_up = true; },
                 "overrides[0].search.top_up"},
        EditCase{"OverrideGone", [](SweepSpec& s) { s.overrides.clear(); }, "overrides[0].for.optimizer"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CanonicalTextTest, PointsCountEachValue) {
  SweepSpec a = GoodSpec();
  a.search = SearchSpec{.points = PointsSpec{.names = {"learning_rate"}, .values = {0.1, 0.2}}};
  SweepSpec b = a;
  b.search.sampler = "points";
  EXPECT_EQ(FirstDifference(a, b), "");
  b.search.points->values[1] = 0.3;
  EXPECT_EQ(FirstDifference(a, b), "search.points");
}

}  // namespace
}  // namespace stepcurve
