// SPDX-License-Identifier: Apache-2.0
#include "server/core/study_sections.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/status_macros.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

// "*" stands for any run of characters.
bool MatchesPattern(absl::string_view pattern, absl::string_view name) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  for (size_t skipped = star; skipped <= name.size(); ++skipped) {
    if (MatchesPattern(rest, name.substr(skipped))) return true;
  }
  return false;
}

bool MatchesAny(const std::vector<std::string>& patterns, const std::string& name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&name](const std::string& pattern) { return MatchesPattern(pattern, name); });
}

// Replaces what `over` says and leaves the rest, for a section at `path`.
template <typename T>
void Replace(Placed<std::optional<T>>& under, const std::optional<T>& over, const std::string& path) {
  if (over.has_value()) under = {over, path};
}

absl::Status ReplaceEntry(std::vector<Placed<SpaceEntrySpec>>& space, const SpaceEntrySpec& entry,
                          const std::string& path, bool in_override) {
  const auto old = std::find_if(space.begin(), space.end(),
                                [&entry](const auto& placed) { return placed.value.name == entry.name; });
  if (std::holds_alternative<RemovedSpec>(entry.kind)) {
    if (!in_override) return FieldError(path, "is empty; write a number, {values: [...]} or {min, max}");
    if (old == space.end()) return FieldError(path, "there is no such parameter to remove from the space");
    space.erase(old);
  } else if (old == space.end()) {
    space.push_back({entry, path});
  } else {
    *old = {entry, path};
  }
  return absl::OkStatus();
}

absl::Status MergeSearch(PlacedSearch& under, const SearchSpec& over, const std::string& path, bool in_override) {
  Replace(under.sampler, over.sampler, path + ".sampler");
  Replace(under.seed, over.seed, path + ".seed");
  Replace(under.trials, over.trials, path + ".trials");
  Replace(under.max_trials, over.max_trials, path + ".max_trials");
  Replace(under.top_up, over.top_up, path + ".top_up");
  Replace(under.split, over.split, path + ".split");
  Replace(under.repeats, over.repeats, path + ".repeats");
  Replace(under.points_across_batch_sizes, over.points_across_batch_sizes, path + ".points_across_batch_sizes");
  Replace(under.points, over.points, path + ".points");
  for (size_t i = 0; i < over.space.size(); ++i) {
    const std::string entry_path = absl::StrCat(path, ".space.", over.space[i].name);
    for (size_t j = 0; j < i; ++j) {
      if (over.space[j].name == over.space[i].name) return FieldError(entry_path, "is there twice");
    }
    STEPCURVE_RETURN_IF_ERROR(ReplaceEntry(under.space, over.space[i], entry_path, in_override));
  }
  return absl::OkStatus();
}

StudySections Base(const SweepSpec& spec) {
  StudySections sections;
  sections.training = {spec.training, "training"};
  sections.budget = {spec.budget, "budget"};
  sections.evaluation = {spec.evaluation, "evaluation"};
  sections.goals = {spec.goals, "goals"};
  sections.resources = {spec.resources, "resources"};
  sections.checkpoint = {spec.checkpoint, "checkpoint"};
  PlacedSearch& search = sections.search;
  search.sampler.path = "search.sampler";
  search.seed.path = "search.seed";
  search.trials.path = "search.trials";
  search.max_trials.path = "search.max_trials";
  search.top_up.path = "search.top_up";
  search.split.path = "search.split";
  search.repeats.path = "search.repeats";
  search.points_across_batch_sizes.path = "search.points_across_batch_sizes";
  search.points.path = "search.points";
  search.space_path = "search.space";
  return sections;
}

std::string Joined(std::vector<std::string> names) {
  std::vector<std::string> distinct;
  for (std::string& name : names) {
    if (std::find(distinct.begin(), distinct.end(), name) == distinct.end()) distinct.push_back(std::move(name));
  }
  return absl::StrJoin(distinct, ", ");
}

}  // namespace

bool SelectsWorkload(const SelectorSpec& selector, const Workload& workload) {
  return MatchesAny(selector.dataset, workload.dataset) && MatchesAny(selector.model, workload.model) &&
         MatchesAny(selector.optimizer, workload.optimizer) && MatchesAny(selector.variant, workload.variant);
}

bool SelectsBatchSizes(const SelectorSpec& selector) {
  return selector.full || !selector.batch_sizes.empty() || selector.batch_size_from.has_value() ||
         selector.batch_size_to.has_value();
}

bool Selects(const SelectorSpec& selector, const StudyKey& study) {
  if (!SelectsWorkload(selector, *study.workload)) return false;
  if (!SelectsBatchSizes(selector)) return true;
  if (selector.full && study.batch_size == study.training_examples) return true;
  if (selector.batch_size_from.has_value() || selector.batch_size_to.has_value()) {
    return study.batch_size >= selector.batch_size_from.value_or(0) &&
           study.batch_size <= selector.batch_size_to.value_or(study.batch_size);
  }
  return std::find(selector.batch_sizes.begin(), selector.batch_sizes.end(), study.batch_size) !=
         selector.batch_sizes.end();
}

absl::StatusOr<StudySections> SectionsOf(const SweepSpec& spec, const StudyKey& study, std::vector<bool>& used) {
  StudySections sections = Base(spec);
  STEPCURVE_RETURN_IF_ERROR(MergeSearch(sections.search, spec.search, "search", /*in_override=*/false));
  for (size_t i = 0; i < spec.overrides.size(); ++i) {
    const OverrideSpec& over = spec.overrides[i];
    if (!Selects(over.selector, study)) continue;
    used[i] = true;
    const std::string path = absl::StrCat("overrides[", i, "]");
    if (over.training.has_value()) sections.training = {*over.training, path + ".training"};
    if (over.budget.has_value()) sections.budget = {over.budget, path + ".budget"};
    if (over.evaluation.has_value()) sections.evaluation = {*over.evaluation, path + ".evaluation"};
    if (over.goals.has_value()) sections.goals = {*over.goals, path + ".goals"};
    if (over.resources.has_value()) sections.resources = {*over.resources, path + ".resources"};
    if (over.checkpoint.has_value()) sections.checkpoint = {*over.checkpoint, path + ".checkpoint"};
    if (over.search.has_value()) {
      STEPCURVE_RETURN_IF_ERROR(MergeSearch(sections.search, *over.search, path + ".search", /*in_override=*/true));
    }
  }
  return sections;
}

absl::Status SelectsNothing(const SelectorSpec& selector, const std::string& path,
                            const std::vector<Workload>& workloads, const std::vector<int64_t>& batch_sizes) {
  struct Key {
    absl::string_view name;
    const std::vector<std::string>& patterns;
    std::string Workload::*field;
  };
  const Key keys[] = {{"dataset", selector.dataset, &Workload::dataset},
                      {"model", selector.model, &Workload::model},
                      {"optimizer", selector.optimizer, &Workload::optimizer},
                      {"variant", selector.variant, &Workload::variant}};
  for (const Key& key : keys) {
    std::vector<std::string> names;
    for (const Workload& workload : workloads) names.push_back(workload.*key.field);
    if (std::none_of(names.begin(), names.end(),
                     [&key](const std::string& name) { return MatchesAny(key.patterns, name); })) {
      return FieldError(path, absl::StrCat(key.name, " ", absl::StrJoin(key.patterns, ", "),
                                           " matches no workload of this sweep (", Joined(names), ")"));
    }
  }
  if (std::none_of(workloads.begin(), workloads.end(),
                   [&selector](const Workload& workload) { return SelectsWorkload(selector, workload); })) {
    return FieldError(path, "matches no workload of this sweep: no single one has all of these names");
  }
  return FieldError(path, absl::StrCat("batch_size matches no study of this sweep (its batch sizes are ",
                                       absl::StrJoin(batch_sizes, ", "), ")"));
}

}  // namespace stepcurve
