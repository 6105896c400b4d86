// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_search.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/core/names.h"
#include "server/core/plan_space.h"
#include "server/core/plan_sweep.h"

namespace stepcurve {
namespace {

constexpr int64_t kMaxTrialsFactor = 10;
// Draws of one strand, whatever becomes of them.
constexpr int64_t kMaxDraws = 1'000'000'000;

absl::StatusOr<SamplerKind> PlanSampler(const PlacedSearch& search) {
  if (!search.sampler.value.has_value()) {
    return search.points.value.has_value() ? SamplerKind::kPoints : SamplerKind::kHalton;
  }
  const std::string& name = *search.sampler.value;
  for (SamplerKind kind : {SamplerKind::kHalton, SamplerKind::kRandom, SamplerKind::kGrid, SamplerKind::kPoints}) {
    if (name == SamplerName(kind)) return kind;
  }
  return UnknownName(search.sampler.path, "sampler", name, {"halton", "random", "grid", "points"});
}

absl::Status CheckSplit(const PlacedSearch& search, const StudyDefinition& study) {
  const std::string& path = search.split.path;
  if (study.split.empty()) return absl::OkStatus();
  if (study.sampler == SamplerKind::kPoints) return FieldError(path, "does not go with the sampler points");
  const auto entry = std::find_if(study.space.begin(), study.space.end(),
                                  [&study](const SpaceEntry& e) { return e.name == study.split; });
  if (entry == study.space.end()) {
    return FieldError(path, absl::StrCat("the space has no parameter ", study.split));
  }
  if (!std::holds_alternative<ValuesEntry>(entry->kind)) {
    return FieldError(
        path, absl::StrCat(study.split, " has no values; write search.space.", study.split, " as {values: [...]}"));
  }
  return absl::OkStatus();
}

absl::Status PlanScalars(const PlacedSearch& search, StudyDefinition& study) {
  study.search_seed = search.seed.value.value_or(0);
  if (study.search_seed < 0) {
    return FieldError(search.seed.path, absl::StrCat("is ", study.search_seed, "; it must be at least 0"));
  }
  study.top_up = search.top_up.value.value_or(true);
  study.split = search.split.value.value_or("");
  study.repeats = search.repeats.value.value_or(1);
  if (study.repeats != 1) {
    return FieldError(search.repeats.path, study.repeats < 1
                                               ? absl::StrCat("is ", study.repeats, "; it must be at least 1")
                                               : "more than 1 is not available in this version; leave it out");
  }
  const std::string across = search.points_across_batch_sizes.value.value_or("independent");
  if (across != "independent" && across != "shared") {
    return UnknownName(search.points_across_batch_sizes.path, "value", across, {"independent", "shared"});
  }
  study.shared_points = across == "shared";
  return absl::OkStatus();
}

}  // namespace

absl::Status PlanSearch(const PlacedSearch& search, const std::vector<Workload>& workloads,
                        const std::vector<int64_t>& batch_sizes, StudyDefinition& study) {
  STEPCURVE_ASSIGN_OR_RETURN(study.sampler, PlanSampler(search));
  STEPCURVE_RETURN_IF_ERROR(PlanScalars(search, study));
  const SpaceContext context{.workload = study.workload,
                             .workloads = workloads,
                             .schedule = study.schedule,
                             .sampler = study.sampler,
                             .scale = {.budget_steps = study.budget_steps, .batch_size = study.batch_size}};
  if (study.sampler == SamplerKind::kPoints) {
    if (!search.space.empty()) {
      return FieldError(search.space.front().path, "the sampler points takes every value from points; remove it here");
    }
    STEPCURVE_ASSIGN_OR_RETURN(PlannedPoints points, PlanPoints(search.points.value.value_or(PointsSpec{}),
                                                                search.points.path, batch_sizes, context));
    study.space = std::move(points.space);
    study.points = std::move(points.table);
  } else {
    if (search.points.value.has_value()) {
      return FieldError(search.points.path,
                        absl::StrCat("goes with the sampler points, not with ", SamplerName(study.sampler)));
    }
    STEPCURVE_ASSIGN_OR_RETURN(study.space, PlanSpace(search.space, search.space_path, context));
  }
  return CheckSplit(search, study);
}

absl::StatusOr<std::vector<StrandPlan>> PlanStrands(const PlacedSearch& search, const StudyDefinition& study) {
  std::vector<std::optional<double>> split_values = {std::nullopt};
  for (const SpaceEntry& entry : study.space) {
    if (entry.name != study.split) continue;
    const std::vector<double>& values = std::get<ValuesEntry>(entry.kind).values;
    split_values.assign(values.begin(), values.end());
  }
  const bool finite = study.sampler == SamplerKind::kGrid || study.sampler == SamplerKind::kPoints;
  if (!search.trials.value.has_value() && !finite) {
    return FieldError(search.trials.path, absl::StrCat("is required with the sampler ", SamplerName(study.sampler)));
  }
  std::vector<StrandPlan> strands;
  for (const auto& split_value : split_values) {
    const int64_t size = MakeSampler(study, split_value).size();
    StrandPlan strand{.split_value = split_value, .wanted = search.trials.value.value_or(size)};
    if (strand.wanted < 1) {
      return FieldError(search.trials.path, absl::StrCat("is ", strand.wanted, "; it must be at least 1"));
    }
    if (strand.wanted > kMaxTrialsPerSweep) {
      return FieldError(search.trials.path,
                        absl::StrCat(strand.wanted, " trials are too many; at most ", kMaxTrialsPerSweep, " a sweep"));
    }
    if (strand.wanted > size) {
      return FieldError(search.trials.path, absl::StrCat("is ", strand.wanted, ", and batch size ", study.batch_size,
                                                         " has only ", size, " points"));
    }
    if (strand.wanted > 1 && !finite &&
        (Dimensions(study.space) == 0 || (split_value.has_value() && Dimensions(study.space) == 1))) {
      return FieldError(search.space_path,
                        absl::StrCat("has nothing to draw, so all ", strand.wanted,
                                     " trials would be the same; vary a parameter or write trials: 1"));
    }
    strand.max_trials = finite ? size : study.top_up ? strand.wanted * kMaxTrialsFactor : strand.wanted;
    if (search.max_trials.value.has_value()) strand.max_trials = *search.max_trials.value;
    if (strand.max_trials < strand.wanted || strand.max_trials > kMaxDraws) {
      return FieldError(search.max_trials.path, absl::StrCat("is ", strand.max_trials, "; it must be ", strand.wanted,
                                                             " (trials) to ", kMaxDraws));
    }
    strand.initial = std::min(strand.wanted, size);
    strands.push_back(strand);
  }
  return strands;
}

}  // namespace stepcurve
