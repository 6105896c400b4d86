// SPDX-License-Identifier: Apache-2.0
#include "server/wire/spec_from_proto.h"

#include <cmath>
#include <functional>
#include <limits>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "gmock/gmock.h"
#include "server/core/field_error.h"
#include "server/core/plan_sweep.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

v1::SweepSpec Parse(const std::string& text) {
  v1::SweepSpec proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

// Every field of the contract, once.
constexpr char kEverything[] = R"pb(
  name: "n"
  description: "d"
  tags: "t"
  priority: 1
  max_running: 2
  workloads {
    dataset: "mnist"
    model: "fc_64"
    optimizer: "sgd"
    data { name: "a" flag: true }
    data { name: "b" integer: 3 }
    options { name: "c" number: 0.5 }
    options { name: "e" text: "x" }
    variant: "v"
  }
  batch_sizes { sizes: 8 range { from: 16 to: 64 factor: 2 } full: true }
  training { schedule: "linear" precision: "float32" }
  search {
    sampler: "halton" seed: 5 trials: 6 max_trials: 7 top_up: false split: "s" repeats: 1 points_across_batch_sizes: "shared"
    space { name: "fixed" fixed: 0.25 }
    space { name: "values" values { values: 1 values: 2 } times { parameter: "fixed" } }
    space { name: "range" range { min: 0.5 max: 1 scale: "log" integer: true count: 4 } times { budget: true } }
    space { name: "removed" removed: true }
    space { name: "nothing" times { batch_size { power: 0.5 at: 256 } } }
    points { names: "p" values: 0.125 values: 3 batch_sizes: 0 batch_sizes: 8 }
  }
  budget { steps: 9 epochs: 1.5 per_batch_size { batch_size: 8 steps: 10 } at_least: 11 at_most: 12 }
  evaluation {
    geometric: 1.25 from: 13 every: 14 epochs: 0.5 at: 15 at: 16
    splits { split: "val" every: 17 }
    train_examples: 18
  }
  goals: "g"
  stop { exact: true semantics: "reached" keep: 2 }
  resources { device: "cpu" devices: 3 memory_bytes: 19 }
  checkpoint { every { seconds: 90 nanos: 500000000 } every_steps: 20 }
  overrides {
    for {
      dataset: "a" model: "b" optimizer: "c" variant: "e" batch_sizes: 21 batch_size_from: 22 batch_size_to: 23 full: true
    }
    training { schedule: "constant" }
    search { trials: 24 }
    budget { steps: 25 }
    evaluation { every: 26 }
    goals { goals: "h" }
    resources { devices: 27 }
    checkpoint { every_steps: 28 }
    batch_sizes { sizes: 29 }
  }
  version: 1
)pb";

TEST(SpecFromProtoTest, CarriesEveryField) {
  const auto spec = SpecFromProto(Parse(kEverything));
  ASSERT_THAT(spec, IsOk());
  SweepSpec expected{.name = "n", .description = "d", .tags = {"t"}, .priority = 1, .max_running = 2};
  expected.workloads = {{.dataset = {"mnist"},
                         .model = {"fc_64"},
                         .optimizer = {"sgd"},
                         .data = {{"a", true}, {"b", int64_t{3}}},
                         .options = {{"c", 0.5}, {"e", std::string("x")}},
                         .variant = "v"}};
  expected.batch_sizes = BatchSizesSpec{.sizes = {8}, .range = GeometricSpec{16, 64, 2}, .full = true};
  expected.training = {.schedule = "linear", .precision = "float32"};
  expected.search = {.sampler = "halton",
                     .seed = 5,
                     .trials = 6,
                     .max_trials = 7,
                     .top_up = false,
                     .split = "s",
                     .repeats = 1,
                     .points_across_batch_sizes = "shared"};
  expected.search.space = {
      {"fixed", FixedSpec{0.25}, {}},
      {"values", ValuesSpec{{1, 2}}, TimesParameterSpec{"fixed"}},
      {"range", RangeSpec{.min = 0.5, .max = 1, .scale = "log", .integer = true, .count = 4}, TimesBudgetSpec{}},
      {"removed", RemovedSpec{}, {}},
      {"nothing", std::monostate{}, TimesBatchSizeSpec{.power = 0.5, .at = 256}}};
  expected.search.points = PointsSpec{.names = {"p"}, .values = {0.125, 3}, .batch_sizes = {0, 8}};
  expected.budget = BudgetSpec{.steps = 9, .epochs = 1.5, .per_batch_size = {{8, 10}}, .at_least = 11, .at_most = 12};
  expected.evaluation = {.geometric = 1.25,
                         .from = 13,
                         .every = 14,
                         .epochs = 0.5,
                         .at = {15, 16},
                         .splits = {{"val", 17}},
                         .train_examples = 18};
  expected.goals = {"g"};
  expected.stop = {.exact = true, .semantics = "reached", .keep = 2};
  expected.resources = {.device = "cpu", .devices = 3, .memory_bytes = 19};
  expected.checkpoint = {.every = absl::Milliseconds(90'500), .every_steps = 20};
  OverrideSpec over;
  over.selector = {.dataset = {"a"},
                   .model = {"b"},
                   .optimizer = {"c"},
                   .variant = {"e"},
                   .batch_sizes = {21},
                   .batch_size_from = 22,
                   .batch_size_to = 23,
                   .full = true};
  over.training = TrainingSpec{.schedule = "constant"};
  over.search = SearchSpec{.trials = 24};
  over.budget = BudgetSpec{.steps = 25};
  over.evaluation = EvaluationSpec{.every = 26};
  over.goals = std::vector<std::string>{"h"};
  over.resources = ResourcesSpec{.devices = 27};
  over.checkpoint = CheckpointSpec{.every_steps = 28};
  over.batch_sizes = BatchSizesSpec{.sizes = {29}};
  expected.overrides = {over};
  expected.version = 1;
  EXPECT_EQ(*spec, expected);
}

// A field that a later release adds must not be forgotten here.
TEST(SpecFromProtoTest, TheTestNamesEveryFieldOfTheContract) {
  std::function<void(const google::protobuf::Descriptor*)> check = [&check](const google::protobuf::Descriptor* type) {
    for (int i = 0; i < type->field_count(); ++i) {
      EXPECT_NE(std::string(kEverything).find(type->field(i)->name()), std::string::npos)
          << type->field(i)->full_name();
      const auto* child = type->field(i)->message_type();
      if (child != nullptr && child->full_name() != "google.protobuf.Duration") check(child);
    }
  };
  check(v1::SweepSpec::descriptor());
}

TEST(SpecFromProtoTest, AnEmptyMessageIsAnEmptySpec) {
  const auto spec = SpecFromProto({});
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(*spec, SweepSpec{});
}

TEST(SpecFromProtoTest, UnknownFieldsAreRefusedHoweverDeep) {
  struct Case {
    const char* field;
    std::function<google::protobuf::Message*(v1::SweepSpec&)> where;
  };
  const Case rows[] = {
      {"", [](v1::SweepSpec& s) { return &s; }},
      {"search", [](v1::SweepSpec& s) { return s.mutable_search(); }},
      {"workloads[0]", [](v1::SweepSpec& s) { return s.mutable_workloads(0); }},
      {"search.space.range", [](v1::SweepSpec& s) { return s.mutable_search()->mutable_space(2); }},
      {"search.space.range", [](v1::SweepSpec& s) { return s.mutable_search()->mutable_space(2)->mutable_range(); }},
      {"search.space.nothing.times",
       [](v1::SweepSpec& s) { return s.mutable_search()->mutable_space(4)->mutable_times(); }},
      {"overrides[0].for", [](v1::SweepSpec& s) { return s.mutable_overrides(0)->mutable_for_(); }},
      {"overrides[0]", [](v1::SweepSpec& s) { return s.mutable_overrides(0)->mutable_goals(); }},
      {"batch_sizes", [](v1::SweepSpec& s) { return s.mutable_batch_sizes()->mutable_range(); }},
      {"checkpoint.every", [](v1::SweepSpec& s) { return s.mutable_checkpoint()->mutable_every(); }},
  };
  for (const Case& row : rows) {
    v1::SweepSpec proto = Parse(kEverything);
    google::protobuf::Message* message = row.where(proto);
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(777, 1);
    const auto spec = SpecFromProto(proto);
    EXPECT_THAT(spec, Fails(absl::StatusCode::kInvalidArgument, "number 777, that this server does not know"));
    EXPECT_EQ(FieldOf(spec.status()), row.field);
  }
}

TEST(SpecFromProtoTest, NumbersAreFinite) {
  struct Case {
    const char* field;
    std::function<void(v1::SweepSpec&, double)> set;
  };
  const Case rows[] = {
      {"budget.epochs", [](v1::SweepSpec& s, double x) { s.mutable_budget()->set_epochs(x); }},
      {"search.space.fixed", [](v1::SweepSpec& s, double x) { s.mutable_search()->mutable_space(0)->set_fixed(x); }},
      {"search.space.values.values[1]",
       [](v1::SweepSpec& s, double x) { s.mutable_search()->mutable_space(1)->mutable_values()->set_values(1, x); }},
      {"search.space.range.max",
       [](v1::SweepSpec& s, double x) { s.mutable_search()->mutable_space(2)->mutable_range()->set_max(x); }},
      {"search.points.values[0]",
       [](v1::SweepSpec& s, double x) { s.mutable_search()->mutable_points()->set_values(0, x); }},
      {"batch_sizes.factor",
       [](v1::SweepSpec& s, double x) { s.mutable_batch_sizes()->mutable_range()->set_factor(x); }},
      {"workloads[0].options[0].number",
       [](v1::SweepSpec& s, double x) { s.mutable_workloads(0)->mutable_options(0)->set_number(x); }},
  };
  for (const Case& row : rows) {
    for (double bad :
         {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
      v1::SweepSpec proto = Parse(kEverything);
      row.set(proto, bad);
      const auto spec = SpecFromProto(proto);
      EXPECT_THAT(spec, Fails(absl::StatusCode::kInvalidArgument, "must be finite"));
      EXPECT_EQ(FieldOf(spec.status()), row.field);
    }
  }
}

TEST(SpecFromProtoTest, DurationsAndOptionsHaveAValue) {
  v1::SweepSpec proto = Parse(kEverything);
  proto.mutable_checkpoint()->mutable_every()->set_nanos(-1);
  EXPECT_EQ(FieldOf(SpecFromProto(proto).status()), "checkpoint.every");
  proto = Parse(kEverything);
  proto.mutable_overrides(0)->mutable_checkpoint()->mutable_every()->set_seconds(INT64_MAX);
  EXPECT_EQ(FieldOf(SpecFromProto(proto).status()), "overrides[0].checkpoint.every");
  proto = Parse(kEverything);
  proto.mutable_workloads(0)->mutable_data(0)->clear_value();
  EXPECT_EQ(FieldOf(SpecFromProto(proto).status()), "workloads[0].data.a");
}

TEST(SpecFromProtoTest, WhatCameInPlans) {
  const auto spec = SpecFromProto(Parse(R"pb(
    name: "small"
    workloads { dataset: "quadratic" model: "noisy_quadratic_100" optimizer: "sgd" }
    batch_sizes { sizes: 16 sizes: 256 }
    search {
      sampler: "points"
      points { names: "learning_rate" values: 0.1 values: 1 values: 2.5 }
    }
    budget { steps: 4000 }
    evaluation { every: 1 }
    goals: "val/loss < 0.05"
  )pb"));
  ASSERT_THAT(spec, IsOk());
  const auto plan = PlanSweep(*spec);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->wanted(), 6);
}

}  // namespace
}  // namespace stepcurve
