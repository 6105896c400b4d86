// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_studies.h"

#include <utility>

#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

// Definitions of a few kilobytes each: bounded, where a server outlives many sweeps.
constexpr size_t kMostStudies = 10'000;

constexpr char kStudies[] = "SELECT id, sweep_id, definition::text FROM studies WHERE id = ANY ($1)";
constexpr char kStrands[] = "SELECT id, study_id, split_value FROM strands WHERE study_id = ANY ($1) ORDER BY id";

}  // namespace

absl::Status FlushStudies::Load(PgConnection& connection, const std::vector<int64_t>& studies) {
  std::vector<int64_t> unknown;
  for (const int64_t study : studies) {
    if (!studies_.contains(study)) {
      unknown.push_back(study);
    }
  }
  if (unknown.empty()) {
    return absl::OkStatus();
  }
  if (studies_.size() + unknown.size() > kMostStudies) {
    studies_.clear();
    unknown = studies;
  }
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult rows, connection.Execute(kStudies, PgParams().Int64s(unknown)));
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult strands, connection.Execute(kStrands, PgParams().Int64s(unknown)));
  absl::flat_hash_map<int64_t, FlushStudy> read;
  for (int row = 0; row < rows.rows(); ++row) {
    FlushStudy& study = read[rows.Int64(row, 0)];
    study.sweep = rows.Int64(row, 1);
    const std::string_view definition = rows.Text(row, 2);
    STEPCURVE_ASSIGN_OR_RETURN(study.definition, StudyDefinitionFromJson({definition.data(), definition.size()}));
  }
  for (int row = 0; row < strands.rows(); ++row) {
    FlushStudy& study = read.at(strands.Int64(row, 1));
    study.strands.push_back({strands.Int64(row, 0), MakeSampler(study.definition, strands.OptionalDouble(row, 2))});
  }
  for (auto& [id, study] : read) {
    studies_.insert_or_assign(id, std::move(study));
  }
  return absl::OkStatus();
}

}  // namespace stepcurve
