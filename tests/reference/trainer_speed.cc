// SPDX-License-Identifier: Apache-2.0
//
// The trainer's own loop on Fashion MNIST, timed: for every line on standard input it trains a fresh model for
// --warmup + --steps steps and prints the steps per second of the last --steps. tests/reference/speed.py does the same.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "worker/data/image_data.h"
#include "worker/data/image_files.h"
#include "worker/run/trial_run.h"
#include "worker/training/device.h"
#include "worker/training/train.h"
#include "worker/workloads/registry.h"

ABSL_FLAG(std::string, model, "fc_1024", "model");
ABSL_FLAG(std::string, optimizer, "sgd", "optimizer");
ABSL_FLAG(int64_t, batch, 32, "batch size");
ABSL_FLAG(int64_t, warmup, 20, "steps before the timed ones");
ABSL_FLAG(int64_t, steps, 100, "timed steps");
ABSL_FLAG(int, threads, 2, "threads");
ABSL_FLAG(int64_t, pass, 0, "examples a pass takes at most; 0: the model's own number");
ABSL_FLAG(std::string, datasets, std::string(stepcurve::kDefaultDatasetsFolder), "folder of data sets");

namespace stepcurve {
namespace {

int Main() {
  PrepareProcess();
  UseThreads(absl::GetFlag(FLAGS_threads));
  const auto folder = FindImageFolder("fashion_mnist", absl::GetFlag(FLAGS_datasets));
  const auto files = folder.ok() ? LoadImageFiles(*folder) : folder.status();
  if (!files.ok()) {
    std::cerr << files.status().message() << '\n';
    return 1;
  }
  const ImageData data = MoveToDevice("fashion_mnist", *files, at::kCPU);

  TrialRun run;
  run.workload.model = absl::GetFlag(FLAGS_model);
  run.workload.optimizer = absl::GetFlag(FLAGS_optimizer);
  run.batch_size = absl::GetFlag(FLAGS_batch);
  run.budget_steps = absl::GetFlag(FLAGS_warmup) + absl::GetFlag(FLAGS_steps);
  run.grid = {.kind = EvaluationGrid::Kind::kAt, .at = {absl::GetFlag(FLAGS_warmup)}};
  run.parameters = {{"learning_rate", 0.01}, {"momentum", 0.9}};
  run.training_seed = 1;
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto model = MakeModel(run.workload.model, {.seed = run.training_seed});
    if (!model.ok()) {
      std::cerr << model.status().message() << '\n';
      return 1;
    }
    std::vector<double> seconds;  // Of training, at step 0, after warm-up, at the end.
    TrialSink sink;
    sink.measured = [&](int64_t, const std::vector<double>&, double train_seconds, double) {
      seconds.push_back(train_seconds);
    };
    sink.progress = [](int64_t) {};
    sink.should_stop = [] { return false; };
    const RunEnd end = Train(run, data, **model, sink, {.pass_examples = absl::GetFlag(FLAGS_pass)});
    if (end.kind != RunEnd::Kind::kComplete) {
      std::cerr << "the run did not complete: " << end.message << '\n';
      return 1;
    }
    std::cout << static_cast<double>(absl::GetFlag(FLAGS_steps)) / (seconds[2] - seconds[1]) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace stepcurve

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stepcurve::Main();
}
