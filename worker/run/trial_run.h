// SPDX-License-Identifier: Apache-2.0
//
// One training run as whoever runs it sees it: free of the wire's messages and of Torch, so that the daemon, the
// quadratic and the trainer share it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "proto/support/evaluation_grid.h"
#include "proto/support/goal.h"
#include "proto/support/option.h"

namespace stepcurve {

struct Metaparameter {
  std::string name;
  double value = 0;
};

struct TrialRun {
  int64_t trial = 0;
  int64_t attempt = 0;
  Workload workload;
  int64_t batch_size = 1;
  int64_t budget_steps = 1;
  EvaluationGrid grid;
  std::vector<std::string> metrics;  // Order of the values in every measurement.
  std::vector<Metaparameter> parameters;
  std::string schedule = "constant";
  std::string precision = "float32";
  std::vector<std::pair<std::string, int64_t>> split_intervals;  // Empty: all splits at every evaluation.
  int64_t train_examples = 0;                                    // Sample for train metrics.
  std::vector<Goal> goals;
  uint64_t training_seed = 0;

  // Value of a parameter, or `fallback` where the run does not name it.
  double Parameter(const std::string& name, double fallback) const;
};

// How a run ended.
struct RunEnd {
  enum class Kind {
    kComplete,     // Trained its whole budget.
    kDiverged,     // The training loss of step `step` was not finite; nothing at or past it was reported.
    kStopped,      // should_stop said so.
    kTrialError,   // The trial's own fault.
    kWorkerError,  // This worker cannot run it: data, device.
  };
  Kind kind = Kind::kComplete;
  int64_t last_step = -1;  // Last evaluated step.
  int64_t step = 0;        // kDiverged.
  bool before_first_step = false;
  std::string message;
};

// Where a run's measurements go. Called by the running thread; `values` in the run's metric order, NaN where a metric
// was not evaluated.
struct TrialSink {
  std::function<void(int64_t step, const std::vector<double>& values, double train_seconds, double eval_seconds)>
      measured;
  std::function<void(int64_t step)> progress;  // Often, cheap: the step reached.
  std::function<bool()> should_stop;           // Often, cheap.
};

}  // namespace stepcurve
