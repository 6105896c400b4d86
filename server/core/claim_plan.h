// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

#include "server/core/study_definition.h"

namespace stepcurve {

// Slots of a worker that are alike.
struct SlotClass {
  std::string device = "cpu";
  int64_t devices = 1;
  int64_t memory_bytes = 0;
  int32_t threads = 1;
  int32_t slots = 1;
  std::string description;
};

struct DatasetOffer {
  std::string name;
  int64_t train_examples = 0;
  int64_t val_examples = 0;
  int64_t test_examples = 0;
  std::string fingerprint;
};

// What a session said it can train.
struct Capabilities {
  std::vector<DatasetOffer> datasets;
  std::set<std::string> models;  // Families.
  std::set<std::string> optimizers;
};

// Free slots of one class of one session.
struct ClaimDemand {
  int64_t session = 0;
  int32_t slot_class = 0;
  int64_t wanted = 0;
};

// A strand of an active sweep that has trials to hand out.
struct ClaimableStrand {
  int64_t strand = 0;
  int64_t study = 0;
  int64_t sweep = 0;
  int64_t fresh = 0;  // Beyond the cursor.
  int64_t requeued = 0;
  int64_t grants = 0;  // So far, for fairness within the sweep.
};

struct ClaimableSweep {
  int64_t sweep = 0;
  int32_t priority = 0;
  double pass = 0;
  std::optional<int64_t> room;  // Trials that max_running still allows.
};

// Take `count` trials of `strand` for a session's slots: requeued ones first.
struct ClaimShare {
  int64_t strand = 0;
  int64_t session = 0;
  int32_t slot_class = 0;
  int64_t count = 0;
};

// Whether a slot can run a study's trials, and if not, why not.
enum class Fit { kFits, kNoDataset, kNoModel, kNoOptimizer, kWrongSizes, kNoDevice };
Fit CanRun(const StudyDefinition& study, const Capabilities& can_run, const SlotClass& slot);

// Divides trials among free slots. Among the sweeps of the highest priority with a trial that a slot can run, the one
// with the least pass is served, its pass rising by one a trial; within it the strand with the fewest grants, ties by
// id, so that all batch sizes of a curve fill evenly. `fits(study, demand index)` says what can run where. The sum of
// counts never exceeds a demand's wanted, a strand's trials or a sweep's room. Shares are sorted by strand.
using FitsFn = absl::FunctionRef<bool(int64_t study, size_t demand)>;
std::vector<ClaimShare> PlanClaims(const std::vector<ClaimDemand>& demands, std::vector<ClaimableSweep> sweeps,
                                   std::vector<ClaimableStrand> strands, FitsFn fits);

}  // namespace stepcurve
