// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/row_values.h"
#include "server/store/sweep_rows.h"
#include "server/store/sweep_store.h"

namespace stepcurve {
namespace {

// Of the sweeps that the appended clause picks as w, with the sums over their strands.
constexpr char kSweeps[] = R"sql(
  SELECT w.id, w.name, w.description, w.tags, w.state, w.priority, w.max_running, w.version, w.semantics, w.creator,
         w.request_id, w.spec_digest, w.goals, (extract(epoch FROM w.create_time) * 1000000)::bigint,
         (extract(epoch FROM w.end_time) * 1000000)::bigint, c.*
    FROM sweeps w CROSS JOIN LATERAL (
         SELECT count(DISTINCT s.id), coalesce(sum(d.wanted), 0), coalesce(sum(d.queued), 0), coalesce(sum(d.running), 0),
                coalesce(sum(d.complete), 0), coalesce(sum(d.infeasible), 0), coalesce(sum(d.stopped), 0),
                coalesce(sum(d.failed), 0), coalesce(sum(d.cancelled), 0)
           FROM studies s JOIN strands d ON d.study_id = s.id WHERE s.sweep_id = w.id) c
)sql";

// Of the studies that the appended clause picks as s.
constexpr char kStudies[] = R"sql(
  SELECT s.id, s.sweep_id, s.workload_id, k.address, s.definition::text, s.space_hash, s.results_version, w.state, c.*
    FROM studies s JOIN workloads k ON k.id = s.workload_id JOIN sweeps w ON w.id = s.sweep_id CROSS JOIN LATERAL (
         SELECT sum(wanted), sum(max_trials), sum(queued), sum(running), sum(complete), sum(infeasible), sum(stopped),
                sum(failed), sum(cancelled)
           FROM strands d WHERE d.study_id = s.id) c
)sql";

// The definition is that of the newest study: of one workload they all hold the same content.
constexpr char kWorkloads[] = R"sql(
  SELECT k.id, k.address,
         (SELECT s.definition::text FROM studies s WHERE s.workload_id = k.id ORDER BY s.id DESC LIMIT 1),
         ARRAY(SELECT DISTINCT s.batch_size FROM studies s WHERE s.workload_id = k.id ORDER BY 1),
         ARRAY(SELECT w.name FROM sweeps w
                WHERE w.parent_id IS NULL AND w.id IN (SELECT s.sweep_id FROM studies s WHERE s.workload_id = k.id)
                ORDER BY w.id DESC),
         ARRAY(SELECT DISTINCT m FROM studies s, unnest(s.metrics) m WHERE s.workload_id = k.id ORDER BY 1)
    FROM workloads k WHERE EXISTS (SELECT FROM studies s WHERE s.workload_id = k.id) ORDER BY k.address
)sql";

SweepRow SweepAt(const pqxx::row& row) {
  SweepRow sweep;
  sweep.id = row[0].as<int64_t>();
  sweep.name = row[1].c_str();
  sweep.description = row[2].c_str();
  sweep.tags = TextsAt(row[3]);
  sweep.state = SweepStateAt(row[4]);
  sweep.priority = row[5].as<int32_t>();
  sweep.max_running = OptionalInt64At(row[6]);
  sweep.version = row[7].as<int64_t>();
  sweep.semantics = SemanticsAt(row[8]);
  sweep.creator = row[9].c_str();
  sweep.request_id = row[10].c_str();
  sweep.spec_digest = row[11].c_str();
  sweep.goals = TextsAt(row[12]);
  sweep.create_time = TimeAt(row[13]);
  sweep.end_time = OptionalTimeAt(row[14]);
  sweep.studies = row[15].as<int64_t>();
  sweep.wanted = row[16].as<int64_t>();
  sweep.counts = CountsAt(row, 17);
  if (sweep.state == SweepState::kCancelled) {
    ShowOpenAsCancelled(sweep.counts);
  }
  return sweep;
}

absl::StatusOr<StudyRow> StudyAt(const pqxx::row& row) {
  StudyRow study;
  study.id = row[0].as<int64_t>();
  study.sweep = row[1].as<int64_t>();
  study.workload_id = row[2].as<int64_t>();
  study.address = row[3].c_str();
  STEPCURVE_ASSIGN_OR_RETURN(study.definition, StudyDefinitionFromJson(row[4].c_str()));
  study.space_hash = row[5].c_str();
  study.results_version = row[6].as<int64_t>();
  study.wanted = row[8].as<int64_t>();
  study.max_trials = row[9].as<int64_t>();
  study.counts = CountsAt(row, 10);
  if (SweepStateAt(row[7]) == SweepState::kCancelled) {
    ShowOpenAsCancelled(study.counts);
  }
  return study;
}

// One text column of a sweep.
absl::StatusOr<std::string> ReadColumn(Database& database, const char* statement, int64_t sweep) {
  std::string value;
  STEPCURVE_RETURN_IF_ERROR(database.Read([&](pqxx::read_transaction& work) -> absl::Status {
    const pqxx::result rows = work.exec_params(statement, sweep);
    if (rows.empty()) {
      return absl::NotFoundError(absl::StrCat("no sweep has id ", sweep));
    }
    value = BytesAt(rows[0][0]);
    return absl::OkStatus();
  }));
  return value;
}

}  // namespace

absl::StatusOr<SweepRow> ReadSweep(pqxx::transaction_base& work, int64_t sweep) {
  const pqxx::result rows = work.exec_params(absl::StrCat(kSweeps, "WHERE w.id = $1"), sweep);
  if (rows.empty()) {
    return absl::NotFoundError(absl::StrCat("no sweep has id ", sweep));
  }
  return SweepAt(rows[0]);
}

absl::StatusOr<int64_t> FindSweepId(pqxx::transaction_base& work, const std::string& name_or_id) {
  int64_t id = 0;
  const bool by_id = absl::SimpleAtoi(name_or_id, &id);  // A name starts with a letter.
  const pqxx::result rows = by_id ? work.exec_params("SELECT id FROM sweeps WHERE id = $1", id)
                                  : work.exec_params("SELECT id FROM sweeps WHERE name = $1", name_or_id);
  if (rows.empty()) {
    return absl::NotFoundError(by_id ? absl::StrCat("no sweep has id ", id)
                                     : absl::StrCat("no sweep is named \"", name_or_id, "\""));
  }
  return rows[0][0].as<int64_t>();
}

SweepStore::SweepStore(Database* database) : database_(database) {}

absl::StatusOr<SweepRow> SweepStore::Find(const std::string& name_or_id) {
  SweepRow sweep;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(const int64_t id, FindSweepId(work, name_or_id));
    STEPCURVE_ASSIGN_OR_RETURN(sweep, ReadSweep(work, id));
    return absl::OkStatus();
  }));
  return sweep;
}

absl::StatusOr<std::string> SweepStore::Spec(int64_t sweep) {
  return ReadColumn(*database_, "SELECT spec FROM sweeps WHERE id = $1", sweep);
}

absl::StatusOr<std::string> SweepStore::Resolved(int64_t sweep) {
  return ReadColumn(*database_, "SELECT convert_to(resolved, 'UTF8') FROM sweeps WHERE id = $1", sweep);
}

absl::StatusOr<std::vector<SweepRow>> SweepStore::List(const Filter& filter) {
  const std::string state = filter.state.has_value() ? std::string(Name(*filter.state)) : "";
  const int64_t before = filter.before.value_or(std::numeric_limits<int64_t>::max());
  std::vector<SweepRow> sweeps;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) {
    sweeps.clear();
    for (const pqxx::row& row : work.exec_params(
             absl::StrCat(kSweeps,
                          "WHERE w.id < $1 AND ($2 = '' OR w.tags @> ARRAY[$2]) AND ($3 = '' OR w.state::text = $3)"
                          " ORDER BY w.id DESC LIMIT $4"),
             before, filter.tag, state, filter.limit)) {
      sweeps.push_back(SweepAt(row));
    }
    return absl::OkStatus();
  }));
  return sweeps;
}

absl::StatusOr<std::vector<StudyRow>> SweepStore::Studies(int64_t sweep) {
  std::vector<StudyRow> studies;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    studies.clear();
    // Workloads in the order of the sweep's file, which is that of their first studies.
    for (const pqxx::row& row :
         work.exec_params(absl::StrCat(kStudies,
                                       "WHERE s.sweep_id = $1"
                                       " ORDER BY min(s.id) OVER (PARTITION BY s.workload_id), s.batch_size"),
                          sweep)) {
      STEPCURVE_ASSIGN_OR_RETURN(StudyRow study, StudyAt(row));
      studies.push_back(std::move(study));
    }
    return absl::OkStatus();
  }));
  return studies;
}

absl::StatusOr<StudyRow> SweepStore::Study(int64_t study) {
  StudyRow found;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    const pqxx::result rows = work.exec_params(absl::StrCat(kStudies, "WHERE s.id = $1"), study);
    if (rows.empty()) {
      return absl::NotFoundError(absl::StrCat("no study has id ", study));
    }
    STEPCURVE_ASSIGN_OR_RETURN(found, StudyAt(rows[0]));
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<std::vector<WorkloadRow>> SweepStore::Workloads() {
  std::vector<WorkloadRow> workloads;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    workloads.clear();
    for (const pqxx::row& row : work.exec(kWorkloads)) {
      STEPCURVE_ASSIGN_OR_RETURN(const StudyDefinition definition, StudyDefinitionFromJson(row[2].c_str()));
      workloads.push_back({.id = row[0].as<int64_t>(),
                           .address = row[1].c_str(),
                           .workload = definition.workload,
                           .batch_sizes = Int64sAt(row[3]),
                           .sweeps = TextsAt(row[4]),
                           .metrics = TextsAt(row[5])});
    }
    return absl::OkStatus();
  }));
  return workloads;
}

absl::StatusOr<std::vector<std::pair<int64_t, SweepState>>> SweepStore::States(const std::vector<int64_t>& sweeps) {
  std::vector<std::pair<int64_t, SweepState>> states;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) {
    states.clear();
    for (const pqxx::row& row : work.exec_params(
             "SELECT id, state FROM sweeps WHERE id = ANY ($1::bigint[]) ORDER BY id", ArrayText(sweeps))) {
      states.emplace_back(row[0].as<int64_t>(), SweepStateAt(row[1]));
    }
    return absl::OkStatus();
  }));
  return states;
}

}  // namespace stepcurve
