// SPDX-License-Identifier: Apache-2.0
#include "worker/training/trial_runner.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "worker/data/image_files.h"
#include "worker/training/catch_torch.h"
#include "worker/training/optimizer.h"
#include "worker/training/train.h"
#include "worker/workloads/registry.h"

namespace stepcurve {
namespace {

RunEnd WorkerError(std::string message) {
  return {.kind = RunEnd::Kind::kWorkerError, .before_first_step = true, .message = std::move(message)};
}

}  // namespace

TrialRunner::TrialRunner(const Options& options) : options_(options) {
  for (const absl::string_view name : ImageDatasets()) {
    const absl::StatusOr<std::string> folder = FindImageFolder(name, options.datasets);
    if (!folder.ok()) continue;
    const absl::StatusOr<ImageFiles> files = LoadImageFiles(*folder);
    if (!files.ok()) {
      ready_.warnings.push_back(absl::StrCat("data set ", name, " is not usable: ", files.status().message()));
      continue;
    }
    const ImageData& data = data_[std::string(name)] = MoveToDevice(std::string(name), *files, options.device);
    ready_.datasets.push_back({.name = data.name,
                               .train_examples = data.train.size(),
                               .val_examples = data.val.size(),
                               .test_examples = data.test.size(),
                               .fingerprint = data.fingerprint});
  }
  if (data_.empty()) {
    ready_.warnings.push_back(
        absl::StrCat("no data set is usable below ", options.datasets,
                     "; on Debian install dataset-fashion-mnist, or name a folder by --datasets"));
  }
  for (const ModelEntry& entry : ModelEntries()) {
    ready_.models.emplace_back(entry.family);
  }
  for (const OptimizerEntry& entry : OptimizerEntries()) {
    ready_.optimizers.emplace_back(entry.name);
  }
}

RunEnd TrialRunner::Run(const TrialRun& run, const TrialSink& sink) const {
  const auto data = data_.find(run.workload.dataset);
  if (data == data_.end()) {
    return WorkerError(absl::StrCat("data set ", run.workload.dataset, " is not usable below ", options_.datasets));
  }
  if (!run.workload.data.empty() || !run.workload.options.empty()) {
    const Option& option = run.workload.data.empty() ? run.workload.options.front() : run.workload.data.front();
    return WorkerError(absl::StrCat("option ", option.name, " is set; this trainer has no options of data or model"));
  }
  RunEnd end;
  int64_t last_measured = -1;
  int64_t last_step = 0;
  TrialSink watched = sink;
  watched.measured = [&](int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds) {
    last_measured = step;
    sink.measured(step, values, train_seconds, eval_seconds);
  };
  watched.progress = [&](int64_t step) {
    last_step = step;
    sink.progress(step);
  };
  const absl::Status status = CatchTorch([&] {
    const absl::StatusOr<std::unique_ptr<Model>> model =
        MakeModel(run.workload.model, {.seed = run.training_seed, .device = options_.device});
    end = model.ok() ? Train(run, data->second, **model, watched, {.clock = options_.clock})
                     : WorkerError(std::string(model.status().message()));
  });
  if (status.ok()) return end;
  if (last_step == 0) {
    RunEnd early = WorkerError(std::string(status.message()));
    early.last_step = last_measured;
    return early;
  }
  return {.kind = RunEnd::Kind::kTrialError, .last_step = last_measured, .message = std::string(status.message())};
}

}  // namespace stepcurve
