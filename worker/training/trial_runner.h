// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "proto/support/clock.h"
#include "worker/data/image_data.h"
#include "worker/run/frames.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// Runs trials on one device with the data sets that this machine has, each resident on the device once. Thread-safe:
// every slot runs its trials in a thread of its own.
class TrialRunner final {
 public:
  struct Options {
    at::Device device = at::kCPU;
    std::string datasets;                  // Folder.
    const Clock* clock = Clock::System();  // Not owned; outlives the runner.
  };
  // Loads what data sets it finds. One that is not there is nobody's fault; one that is there and not what it should be
  // becomes a warning. Throws what Torch throws.
  explicit TrialRunner(const Options& options);

  // What can be run, for the daemon: data sets, models, optimizers, warnings. The device's part is left empty.
  const ReadyFrame& ready() const { return ready_; }

  // Never throws: memory that ran out and whatever else Torch throws end this trial alone, as the worker's fault before
  // the first step and as the trial's after it.
  RunEnd Run(const TrialRun& run, const TrialSink& sink) const;

 private:
  const Options options_;
  std::map<std::string, ImageData> data_;
  ReadyFrame ready_;
};

}  // namespace stepcurve
