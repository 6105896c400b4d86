// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"

namespace stepcurve {

struct FoundTrial {
  TrialRow trial;
  StudyRow study;
};

// Finds trials as requests name them: by global id ("90412"), or by batch size and number ("512/17") within a sweep
// and, where it has several, a workload. Remembers the sweep between calls. One thread.
class TrialLookup final {
 public:
  // `sweep` and `workload` may be empty.
  TrialLookup(SweepStore* sweeps, TrialStore* trials, std::string sweep, std::string workload);

  // `field` names the part of the request that `reference` is. INVALID_ARGUMENT for what is no reference, NOT_FOUND
  // where it leads nowhere.
  absl::StatusOr<FoundTrial> Find(absl::string_view field, absl::string_view reference);

 private:
  absl::StatusOr<FoundTrial> FindById(int64_t id);
  absl::StatusOr<FoundTrial> FindByNumber(int64_t batch_size, int64_t number);
  absl::Status LoadSweep();

  SweepStore* const sweeps_;
  TrialStore* const trials_;
  const std::string sweep_name_;
  const std::string workload_;
  int64_t sweep_ = 0;  // Once loaded.
  std::vector<StudyRow> studies_;
};

// The studies of a sweep that a request means: of one workload and batch size, or all ("" and 0). NOT_FOUND lists what
// there is.
absl::StatusOr<std::vector<StudyRow>> StudiesOf(absl::string_view sweep, std::vector<StudyRow> studies,
                                                absl::string_view workload, int64_t batch_size);

}  // namespace stepcurve
