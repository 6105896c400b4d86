// SPDX-License-Identifier: Apache-2.0
#include "server/store/records_from_chunks.h"

#include <map>

#include "proto/support/status_macros.h"
#include "server/store/flush_records.h"
#include "server/store/pg_array.h"

namespace stepcurve {
namespace {

constexpr char kIdentities[] = R"sql(
SELECT t.id, t.study_id, t.number, cardinality(y.metrics)
  FROM unnest($1::bigint[]) u(id)
  JOIN trials t ON t.id = u.id
  JOIN studies y ON y.id = t.study_id)sql";

constexpr char kInsertRecords[] = R"sql(
INSERT INTO records (trial_id, study_id, number, offsets, steps, "values")
VALUES ($1, $2, $3, $4::integer[], $5::bigint[], $6::double precision[]))sql";

}  // namespace

absl::Status WriteRecords(pqxx::work& work, const std::vector<int64_t>& trials, const std::vector<int64_t>& attempts) {
  std::map<int64_t, TrialStaircases> staircases;
  const pqxx::result identities = work.exec_params(kIdentities, ArrayText(trials));
  for (const auto& row : identities) {
    staircases.emplace(row[0].as<int64_t>(), TrialStaircases(row[3].as<int>()));
  }
  for (const auto& row : work.exec_params(kLiveChunks, ArrayText(trials), ArrayText(attempts))) {
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ParseInt64Array(row[1].c_str()));
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<double> values, ParseDoubleArray(row[2].c_str()));
    AddPoints(steps, values, 0, staircases.at(row[0].as<int64_t>()));
  }
  for (const auto& row : identities) {
    const RecordArrays records = Flatten(staircases.at(row[0].as<int64_t>()));
    work.exec_params(kInsertRecords, row[0].as<int64_t>(), row[1].as<int64_t>(), row[2].as<int64_t>(),
                     ArrayText(records.offsets), ArrayText(records.steps), ArrayText(records.values));
  }
  return absl::OkStatus();
}

}  // namespace stepcurve
