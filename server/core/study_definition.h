// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "proto/support/evaluation_grid.h"
#include "proto/support/goal.h"
#include "proto/support/option.h"
#include "server/search/sampler.h"
#include "server/search/space.h"

namespace stepcurve {

enum class Semantics { kPublished, kReached };

// What a slot must have for a trial of a study.
struct Needs {
  std::string device = "any";  // any, cpu, cuda
  int64_t devices = 1;
  int64_t memory_bytes = 0;
  friend bool operator==(const Needs&, const Needs&) = default;
};

// All that is resolved about a study and never changes. Stored as studies.definition; the wire's StudyDefinition and
// every top-up are made from it.
struct StudyDefinition {
  Workload workload;
  int64_t batch_size = 1;
  int64_t training_examples = 0;  // 0: no epochs.
  int64_t budget_steps = 1;
  EvaluationGrid grid;
  std::vector<std::string> metrics;
  std::string schedule = "constant";
  std::string precision = "float32";
  SearchSpace space;
  SamplerKind sampler = SamplerKind::kHalton;
  int64_t search_seed = 0;
  bool shared_points = false;  // Across batch sizes.
  bool top_up = true;
  int64_t repeats = 1;
  std::string split;                                             // Name of the parameter that is split; empty: none.
  std::vector<std::pair<std::string, int64_t>> split_intervals;  // evaluation.splits: train/val/test -> every n-th.
  int64_t train_examples = 0;                                    // Size of the sample for train metrics.
  std::vector<Goal> goals;
  bool stop_exact = false;
  Semantics semantics = Semantics::kPublished;
  int64_t keep = 1;
  Needs needs;
  absl::Duration checkpoint_every = absl::Minutes(10);
  int64_t checkpoint_every_steps = 0;
  absl::Duration no_progress_timeout = absl::Minutes(30);
  std::vector<double> points;  // For kPoints: row-major, in the space's order.

  std::vector<std::string> ParameterNames() const;
  friend bool operator==(const StudyDefinition&, const StudyDefinition&) = default;
};

// JSON text and back; doubles survive bit for bit. FromJson fails with DATA_LOSS on text that ToJson did not make.
std::string ToJson(const StudyDefinition& study);
absl::StatusOr<StudyDefinition> StudyDefinitionFromJson(absl::string_view json);

// Hex FNV-1a of the search space, the sampler's kind, schedule, precision and fixed values: what two studies must share
// for their trials to be draws from the same space.
std::string SpaceHash(const StudyDefinition& study);

// YAML of the definition as people are shown it by `spec --resolved`, for studies that differ in their batch sizes
// alone.
std::string ToYaml(const StudyDefinition& study, absl::Span<const int64_t> batch_sizes);

// A space's entry as the sweep file writes it: "{min: 0.1, max: 1, scale: log}".
std::string DescribeEntry(const SpaceEntry& entry);

// "halton".
absl::string_view SamplerName(SamplerKind kind);

// "reverse_log".
absl::string_view ScaleName(Scale scale);

// The points of one strand of a study: an endless or finite sequence.
Sampler MakeSampler(const StudyDefinition& study, std::optional<double> split_value);

}  // namespace stepcurve
