// SPDX-License-Identifier: Apache-2.0
//
// Trains --steps steps of a model with the trainer's own loop and writes into --out what a reference needs to repeat
// them: before.N and after.N, the float32 values of parameter N, and batches, the int64 indices of every step's
// examples.
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include <ATen/ATen.h>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "worker/data/image_data.h"
#include "worker/data/image_files.h"
#include "worker/run/trial_run.h"
#include "worker/training/device.h"
#include "worker/training/batch_sampler.h"
#include "worker/training/train.h"
#include "worker/workloads/registry.h"

ABSL_FLAG(std::string, model, "fc_1024", "model");
ABSL_FLAG(std::string, optimizer, "sgd", "optimizer");
ABSL_FLAG(int64_t, batch, 32, "batch size");
ABSL_FLAG(int64_t, steps, 20, "steps");
ABSL_FLAG(double, learning_rate, 0.05, "learning rate");
ABSL_FLAG(double, momentum, 0.9, "momentum, for the optimizers that have it");
ABSL_FLAG(double, weight_decay, 0, "weight decay");
ABSL_FLAG(double, label_smoothing, 0, "label smoothing");
ABSL_FLAG(double, gradient_clip, 0, "largest norm of the gradient; 0: any");
ABSL_FLAG(std::string, schedule, "constant", "schedule");
ABSL_FLAG(int64_t, warmup_steps, 0, "warm-up steps, for the schedules that have it");
ABSL_FLAG(uint64_t, seed, 1, "training seed");
ABSL_FLAG(std::string, datasets, std::string(stepcurve::kDefaultDatasetsFolder), "folder of data sets");
ABSL_FLAG(std::string, out, "", "an existing folder");

namespace stepcurve {
namespace {

template <typename T>
void Write(const std::string& name, const at::Tensor& values) {
  const at::Tensor flat = values.detach().contiguous();
  std::ofstream file(absl::StrCat(absl::GetFlag(FLAGS_out), "/", name), std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(flat.data_ptr<T>()), static_cast<std::streamsize>(flat.numel() * sizeof(T)));
}

void WriteParameters(const std::string& name, const Model& model) {
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    Write<float>(absl::StrCat(name, ".", i), model.parameters()[i]);
  }
}

int Main() {
  UseThreads(2);
  const auto folder = FindImageFolder("fashion_mnist", absl::GetFlag(FLAGS_datasets));
  const auto files = folder.ok() ? LoadImageFiles(*folder) : folder.status();
  if (!files.ok()) {
    std::cerr << files.status().message() << '\n';
    return 1;
  }
  const ImageData data = MoveToDevice("fashion_mnist", *files, at::kCPU);
  const auto model = MakeModel(absl::GetFlag(FLAGS_model), {.seed = absl::GetFlag(FLAGS_seed)});
  if (!model.ok()) {
    std::cerr << model.status().message() << '\n';
    return 1;
  }

  TrialRun run;
  run.workload.optimizer = absl::GetFlag(FLAGS_optimizer);
  run.batch_size = absl::GetFlag(FLAGS_batch);
  run.budget_steps = absl::GetFlag(FLAGS_steps);
  run.grid = {.kind = EvaluationGrid::Kind::kAt};
  run.schedule = absl::GetFlag(FLAGS_schedule);
  run.training_seed = absl::GetFlag(FLAGS_seed);
  run.parameters = {{"learning_rate", absl::GetFlag(FLAGS_learning_rate)},
                    {"momentum", absl::GetFlag(FLAGS_momentum)},
                    {"weight_decay", absl::GetFlag(FLAGS_weight_decay)},
                    {"label_smoothing", absl::GetFlag(FLAGS_label_smoothing)},
                    {"gradient_clip", absl::GetFlag(FLAGS_gradient_clip)},
                    {"warmup_steps", static_cast<double>(absl::GetFlag(FLAGS_warmup_steps))}};

  WriteParameters("before", **model);
  BatchSampler sampler({.examples = data.train.size(), .batch_size = run.batch_size, .seed = run.training_seed});
  for (int64_t step = 0; step < run.budget_steps; ++step) {
    Write<int64_t>("batches", sampler.Next());
  }
  TrialSink sink;
  sink.measured = [](int64_t, const std::vector<double>&, double, double) {};
  sink.progress = [](int64_t) {};
  sink.should_stop = [] { return false; };
  const RunEnd end = Train(run, data, **model, sink);
  if (end.kind != RunEnd::Kind::kComplete) {
    std::cerr << "the run did not complete: " << end.message << '\n';
    return 1;
  }
  WriteParameters("after", **model);
  return 0;
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stepcurve::Main();
}
