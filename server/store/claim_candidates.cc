// SPDX-License-Identifier: Apache-2.0
#include "server/store/claim_candidates.h"

#include <algorithm>

#include "server/store/pg_array.h"

namespace stepcurve {
namespace {

constexpr char kSweeps[] =
    "SELECT id, version, priority, pass, max_running - running FROM sweeps WHERE state = 'active' ORDER BY id";

constexpr char kStrandsOfSweeps[] = R"sql(
SELECT y.sweep_id, s.id, y.id
  FROM studies y
  JOIN strands s ON s.study_id = y.id
 WHERE y.sweep_id = ANY ($1::bigint[]))sql";

constexpr char kStrands[] =
    "SELECT id, created - granted, queued, grants FROM strands WHERE id = ANY ($1::bigint[]) AND queued > 0 ORDER BY "
    "id";

struct Parents {
  int64_t study = 0;
  int64_t sweep = 0;
};

}  // namespace

ClaimCandidates::Result ClaimCandidates::Read(pqxx::work& work) {
  Result result;
  absl::flat_hash_map<int64_t, Sweep> active;
  std::vector<int64_t> unknown;
  for (const auto& row : work.exec(kSweeps)) {
    ClaimableSweep& sweep = result.sweeps.emplace_back();
    sweep.sweep = row[0].as<int64_t>();
    sweep.priority = row[2].as<int32_t>();
    sweep.pass = row[3].as<double>();
    if (!row[4].is_null()) {
      sweep.room = row[4].as<int64_t>();
    }
    Sweep& known = active[sweep.sweep];
    known.version = row[1].as<int64_t>();
    const auto before = sweeps_.find(sweep.sweep);
    if (before != sweeps_.end() && before->second.version == known.version) {
      known = before->second;
    } else {
      unknown.push_back(sweep.sweep);
    }
  }
  if (!unknown.empty()) {
    for (const auto& row : work.exec_params(kStrandsOfSweeps, ArrayText(unknown))) {
      active[row[0].as<int64_t>()].strands.emplace_back(row[1].as<int64_t>(), row[2].as<int64_t>());
    }
  }
  sweeps_ = std::move(active);

  std::vector<int64_t> ids;
  absl::flat_hash_map<int64_t, Parents> parents;
  for (const auto& [id, sweep] : sweeps_) {
    for (const auto& [strand, study] : sweep.strands) {
      ids.push_back(strand);
      parents[strand] = {study, id};
    }
  }
  if (ids.empty()) {
    return result;
  }
  for (const auto& row : work.exec_params(kStrands, ArrayText(ids))) {
    ClaimableStrand& strand = result.strands.emplace_back();
    strand.strand = row[0].as<int64_t>();
    strand.study = parents.at(strand.strand).study;
    strand.sweep = parents.at(strand.strand).sweep;
    const int64_t queued = row[2].as<int64_t>();
    strand.fresh = std::min(queued, row[1].as<int64_t>());
    strand.requeued = queued - strand.fresh;
    strand.grants = row[3].as<int64_t>();
  }
  return result;
}

}  // namespace stepcurve
