// SPDX-License-Identifier: Apache-2.0
#include "server/core/study_definition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "proto/support/hash.h"

namespace stepcurve {

std::vector<std::string> StudyDefinition::ParameterNames() const {
  std::vector<std::string> names;
  names.reserve(space.size());
  for (const SpaceEntry& entry : space) names.push_back(entry.name);
  return names;
}

std::string SpaceHash(const StudyDefinition& study) {
  // By name: the author's order decides the points, not the space.
  std::vector<const SpaceEntry*> entries;
  for (const SpaceEntry& entry : study.space) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string text = absl::StrCat(SamplerName(study.sampler), "|", study.schedule, "|", study.precision);
  for (const SpaceEntry* entry : entries) {
    absl::StrAppend(&text, "|", entry->name, "=", DescribeEntry(*entry));
  }
  if (study.sampler == SamplerKind::kPoints) {
    for (const SpaceEntry& entry : study.space) absl::StrAppend(&text, "|", entry.name);
    for (double value : study.points) absl::StrAppend(&text, "|", FormatDouble(value));
  }
  return absl::StrFormat("%016x", Fnv1a64(text));
}

Sampler MakeSampler(const StudyDefinition& study, std::optional<double> split_value) {
  SearchSpace space = study.space;
  if (split_value.has_value()) {
    for (SpaceEntry& entry : space) {
      if (entry.name == study.split) entry.kind = FixedEntry{*split_value};
    }
  }
  const uint64_t key =
      SequenceKey(study.search_seed, WorkloadIdentity(study.workload), study.shared_points ? 0 : study.batch_size,
                  split_value.has_value() ? FormatDouble(*split_value) : "");
  return Sampler(std::move(space), study.sampler, key, study.points);
}

}  // namespace stepcurve
