// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "proto/support/clock.h"
#include "worker/data/image_data.h"
#include "worker/run/trial_run.h"
#include "worker/training/model.h"

namespace stepcurve {

struct TrainOptions {
  const Clock* clock = Clock::System();  // Not owned; outlives the call.
  int64_t pass_examples = 0;             // 0: what the model says.
};

// Trains `model` on `data` as `run` says and tells `sink` what it measures, in the calling thread and with its number
// of threads. Steps are counted in updates: the measurement of step s comes after s updates, and the loss of step s is
// the one whose gradient made update s. The run diverged at the first step whose loss was not finite; that is looked
// for with every evaluation and at least once a second, and nothing of that step or later is reported. Same build, kind
// of device, number of threads and seed: same measurements. Throws what Torch throws.
RunEnd Train(const TrialRun& run, const ImageData& data, const Model& model, const TrialSink& sink,
             const TrainOptions& options = {});

}  // namespace stepcurve
