// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/training/small_run.h"

#include <utility>

#include <ATen/ATen.h>

#include "gtest/gtest.h"
#include "worker/data/image_files.h"
#include "worker/training/device.h"
#include "worker/workloads/registry.h"

namespace stepcurve {
namespace {

Examples First(const Examples& examples, int64_t count) {
  return {.images = examples.images.narrow(0, 0, count).clone(), .labels = examples.labels.narrow(0, 0, count).clone()};
}

ImageData LoadSmallFashion() {
  const auto folder = FindImageFolder("fashion_mnist", std::string(kDefaultDatasetsFolder));
  const auto files = folder.ok() ? LoadImageFiles(*folder) : folder.status();
  if (!files.ok()) {
    ADD_FAILURE() << files.status() << "; install dataset-fashion-mnist";
    std::abort();
  }
  UseThreads(1);  // What is this small only waits for a second one.
  ImageData data = MoveToDevice("fashion_mnist", *files, at::kCPU);
  data.train = First(data.train, 2'000);
  data.val = First(data.val, 500);
  data.test = First(data.test, 500);
  return data;
}

}  // namespace

const ImageData& SmallFashion() {
  static const ImageData& data = *new ImageData(LoadSmallFashion());
  return data;
}

TrialRun SmallRun() {
  TrialRun run;
  run.workload = {.dataset = "fashion_mnist", .model = "fc_16", .optimizer = "sgd"};
  run.batch_size = 32;
  run.budget_steps = 20;
  run.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 5};
  run.metrics = {"train/classification_error", "train/cross_entropy_error", "val/classification_error",
                 "val/cross_entropy_error",    "test/classification_error", "test/cross_entropy_error"};
  run.parameters = {{"learning_rate", 0.1}};
  run.train_examples = 500;
  run.training_seed = 1;
  return run;
}

std::vector<int64_t> Report::steps() const {
  std::vector<int64_t> steps;
  for (const Row& row : rows) steps.push_back(row.step);
  return steps;
}

Report TrainHere(const TrialRun& run, const Model& model, const TrainOptions& options,
                 std::function<bool()> should_stop) {
  Report report;
  TrialSink sink;
  sink.measured = [&](int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds) {
    report.rows.push_back({step, values, train_seconds, eval_seconds});
  };
  sink.progress = [](int64_t) {};
  sink.should_stop = std::move(should_stop);
  report.end = Train(run, SmallFashion(), model, sink, options);
  return report;
}

Report TrainHere(const TrialRun& run) {
  const auto model = MakeModel(run.workload.model, {.seed = run.training_seed});
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    std::abort();
  }
  return TrainHere(run, **model);
}

}  // namespace stepcurve
