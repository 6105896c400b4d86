// SPDX-License-Identifier: Apache-2.0
//
// A short run on a little of the real Fashion MNIST, and what it reported.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/data/image_data.h"
#include "worker/run/trial_run.h"
#include "worker/training/model.h"
#include "worker/training/train.h"

namespace stepcurve {

// 2,000 examples to train on, 500 each to validate and test, of Debian's dataset-fashion-mnist.
const ImageData& SmallFashion();

// fc_16 with sgd, 20 steps of 32 examples, evaluated at every 5th on all splits.
TrialRun SmallRun();

struct Report {
  struct Row {
    int64_t step = 0;
    std::vector<double> values;
    double train_seconds = 0;
    double eval_seconds = 0;
  };
  std::vector<Row> rows;
  RunEnd end;

  std::vector<int64_t> steps() const;
};

// Trains `model`, or a fresh one as the run names it. The run is told to stop when `should_stop` says so.
Report TrainHere(
    const TrialRun& run, const Model& model, const TrainOptions& options = {},
    std::function<bool()> should_stop = [] { return false; });
Report TrainHere(const TrialRun& run);

}  // namespace stepcurve
