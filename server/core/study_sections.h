// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "proto/support/option.h"
#include "server/core/sweep_spec.h"

namespace stepcurve {

// A value and the path at which the file says it, or would say it.
template <typename T>
struct Placed {
  T value{};
  std::string path;
};

// The search section after its overrides, which replace it key by key and its space by parameter.
struct PlacedSearch {
  Placed<std::optional<std::string>> sampler;
  Placed<std::optional<int64_t>> seed;
  Placed<std::optional<int64_t>> trials;
  Placed<std::optional<int64_t>> max_trials;
  Placed<std::optional<bool>> top_up;
  Placed<std::optional<std::string>> split;
  Placed<std::optional<int64_t>> repeats;
  Placed<std::optional<std::string>> points_across_batch_sizes;
  std::vector<Placed<SpaceEntrySpec>> space;
  std::string space_path;
  Placed<std::optional<PointsSpec>> points;
};

// What the spec says about one study once every override that selects it has been applied.
struct StudySections {
  Placed<TrainingSpec> training;
  PlacedSearch search;
  Placed<std::optional<BudgetSpec>> budget;
  Placed<EvaluationSpec> evaluation;
  Placed<std::vector<std::string>> goals;
  Placed<ResourcesSpec> resources;
  Placed<CheckpointSpec> checkpoint;
};

// The study that sections are asked for. training_examples 0: no epochs.
struct StudyKey {
  const Workload* workload = nullptr;
  int64_t training_examples = 0;
  int64_t batch_size = 0;
};

// Whether an override selects a workload (its batch sizes left aside), and a study.
bool SelectsWorkload(const SelectorSpec& selector, const Workload& workload);
bool Selects(const SelectorSpec& selector, const StudyKey& study);

// Whether it says anything about batch sizes.
bool SelectsBatchSizes(const SelectorSpec& selector);

// The spec's sections for one study. Overrides that select it are noted in `used`, one flag an override.
absl::StatusOr<StudySections> SectionsOf(const SweepSpec& spec, const StudyKey& study, std::vector<bool>& used);

// Why an override selects none of the sweep's workloads and batch sizes. `path`: "overrides[1].for".
absl::Status SelectsNothing(const SelectorSpec& selector, const std::string& path,
                            const std::vector<Workload>& workloads, const std::vector<int64_t>& batch_sizes);

}  // namespace stepcurve
