// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/copy_writer.h"
#include "server/store/hand_out_order.h"
#include "server/store/pg_connection.h"
#include "server/store/row_values.h"
#include "server/store/sweep_store.h"

namespace stepcurve {
namespace {

constexpr int kAttempts = 5;

// No row: the name or the request is taken. Where another transaction is just taking it, this waits for its end. A
// sweep that becomes active starts level with those it will share workers with.
constexpr char kInsertSweep[] = R"sql(
  INSERT INTO sweeps (name, description, tags, priority, max_running, semantics, goals, creator, request_id, spec_digest,
                      spec, spec_json, resolved, pass)
  VALUES ($1, $2, $3, $4, $5::bigint, $6::curve_semantics, $7, $8, $9, $10, $11, $12::jsonb, $13,
          coalesce((SELECT min(pass) FROM sweeps WHERE state = 'active' AND priority = $4), 0))
      ON CONFLICT DO NOTHING RETURNING id
)sql";

constexpr char kFindTwin[] = R"sql(
  SELECT id, name, spec_digest, request_id = $1, creator FROM sweeps WHERE request_id = $1 OR name = $2
   ORDER BY request_id = $1 DESC LIMIT 1
)sql";

constexpr char kInsertWorkload[] = R"sql(
  INSERT INTO workloads (dataset, model, optimizer, variant, address, identity) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT DO NOTHING
)sql";

constexpr char kCopyStudies[] =
    "COPY studies (id, sweep_id, workload_id, batch_size, budget_steps, metrics, parameters, space_hash, definition)"
    " FROM STDIN (FORMAT binary)";
constexpr char kCopyStrands[] =
    "COPY strands (id, study_id, wanted, max_trials, created, queued, split_value) FROM STDIN (FORMAT binary)";
constexpr char kCopyTrials[] =
    "COPY trials (study_id, strand_id, number, position, training_seed, repeat, parameters, coordinates)"
    " FROM STDIN (FORMAT binary)";

// What WriteSweep came to: a sweep of its own, or one that was there.
struct Written {
  int64_t sweep = 0;
  bool created = true;
  bool same_request = true;
};

absl::StatusOr<Written> FindTwin(PgConnection& connection, const SweepPlan& plan, const SweepSource& source) {
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult twin,
                             connection.Execute(kFindTwin, PgParams().Text(source.request_id).Text(plan.name)));
  if (twin.rows() == 0) {
    return absl::AbortedError("a sweep of the same name came and went");
  }
  const bool same_request = twin.Bool(0, 3);
  if (twin.Text(0, 2) == source.digest) {
    return Written{.sweep = twin.Int64(0, 0), .created = false, .same_request = same_request};
  }
  const std::string name(twin.Text(0, 1));
  if (same_request) {
    return absl::AlreadyExistsError(absl::StrCat("request_id \"", source.request_id, "\" has made sweep \"", name,
                                                 "\" of another spec; take a new id for a new sweep"));
  }
  const std::string creator(twin.Text(0, 4));
  return absl::AlreadyExistsError(absl::StrCat("a sweep named \"", name, "\" exists with another content",
                                               creator.empty() ? "" : absl::StrCat(", submitted by ", creator),
                                               "; choose another name"));
}

absl::StatusOr<std::optional<int64_t>> InsertSweep(PgConnection& connection, const SweepPlan& plan,
                                                   const SweepSource& source) {
  PgParams params;
  params.Text(plan.name).Text(plan.description).Texts(plan.tags).Int32(plan.priority);
  if (plan.max_running.has_value()) {
    params.Int64(*plan.max_running);
  } else {
    params.Null();
  }
  const absl::string_view semantics = SemanticsLabel(plan.semantics);
  params.Text({semantics.data(), semantics.size()}).Texts(plan.goals).Text(source.creator).Text(source.request_id);
  params.Text(source.digest).Bytes(source.spec).Text(source.spec_json).Text(plan.resolved);
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult inserted, connection.Execute(kInsertSweep, params));
  return inserted.rows() == 0 ? std::nullopt : std::optional(inserted.Int64(0, 0));
}

// Ids of the plan's workloads by identity; those that are new are written. In order of identity, so that two sweeps
// with the same new workloads wait for each other rather than deadlock.
absl::StatusOr<std::map<std::string, int64_t>> UpsertWorkloads(PgConnection& connection, const SweepPlan& plan) {
  std::map<std::string, const Workload*> wanted;
  for (const StudyPlan& study : plan.studies) {
    wanted.emplace(WorkloadIdentity(study.definition.workload), &study.definition.workload);
  }
  std::map<std::string, int64_t> ids;
  for (const auto& [identity, workload] : wanted) {
    const std::string address = WorkloadAddress(*workload);
    STEPCURVE_RETURN_IF_ERROR(connection
                                  .Execute(kInsertWorkload, PgParams()
                                                                .Text(workload->dataset)
                                                                .Text(workload->model)
                                                                .Text(workload->optimizer)
                                                                .Text(workload->variant)
                                                                .Text(address)
                                                                .Text(identity))
                                  .status());
    STEPCURVE_ASSIGN_OR_RETURN(
        const PgResult found,
        connection.Execute("SELECT id, address FROM workloads WHERE identity = $1", PgParams().Text(identity)));
    if (found.rows() == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("workload ", address, " exists on this server with other options; give this one a variant"));
    }
    if (found.Text(0, 1) != address) {
      return absl::FailedPreconditionError(absl::StrCat("workload ", address, " exists on this server as ",
                                                        std::string(found.Text(0, 1)), "; give it the same variant"));
    }
    ids[identity] = found.Int64(0, 0);
  }
  return ids;
}

// `count` fresh ids of a table's identity column.
absl::StatusOr<std::vector<int64_t>> ReserveIds(PgConnection& connection, const char* table, size_t count) {
  STEPCURVE_ASSIGN_OR_RETURN(
      const PgResult rows,
      connection.Execute("SELECT nextval(pg_get_serial_sequence($1, 'id')) FROM generate_series(1, $2) ORDER BY 1",
                         PgParams().Text(table).Int64(static_cast<int64_t>(count))));
  std::vector<int64_t> ids;
  for (int row = 0; row < rows.rows(); ++row) {
    ids.push_back(rows.Int64(row, 0));
  }
  return ids;
}

absl::Status CopyStudies(PgConnection& connection, const SweepPlan& plan, int64_t sweep,
                         const std::vector<int64_t>& study_ids, const std::map<std::string, int64_t>& workload_ids) {
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyStudies));
  for (size_t i = 0; i < plan.studies.size(); ++i) {
    const StudyDefinition& study = plan.studies[i].definition;
    copy.Row(9);
    copy.Int64(study_ids[i]);
    copy.Int64(sweep);
    copy.Int64(workload_ids.at(WorkloadIdentity(study.workload)));
    copy.Int64(study.batch_size);
    copy.Int64(study.budget_steps);
    copy.Texts(study.metrics);
    copy.Texts(study.ParameterNames());
    copy.Text(plan.studies[i].space_hash);
    copy.Jsonb(ToJson(study));
  }
  return copy.Finish();
}

// Writes the strands and returns them in the plan's order.
absl::StatusOr<std::vector<PlannedStrand>> CopyStrands(PgConnection& connection, const SweepPlan& plan,
                                                       const std::vector<int64_t>& study_ids) {
  size_t count = 0;
  for (const StudyPlan& study : plan.studies) {
    count += study.strands.size();
  }
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ReserveIds(connection, "strands", count));
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyStrands));
  std::vector<PlannedStrand> strands;
  for (size_t i = 0; i < plan.studies.size(); ++i) {
    int64_t number = 1;  // Points of one study share their numbers, strand after strand.
    for (const StrandPlan& strand : plan.studies[i].strands) {
      const PlannedStrand& planned = strands.emplace_back(PlannedStrand{.definition = &plan.studies[i].definition,
                                                                        .study_id = study_ids[i],
                                                                        .strand_id = ids[strands.size()],
                                                                        .split_value = strand.split_value,
                                                                        .initial = strand.initial,
                                                                        .first_number = number});
      number += strand.initial / planned.definition->repeats;
      copy.Row(7);
      copy.Int64(planned.strand_id);
      copy.Int64(planned.study_id);
      copy.Int64(strand.wanted);
      copy.Int64(strand.max_trials);
      copy.Int64(strand.initial);
      copy.Int64(strand.initial);
      if (strand.split_value.has_value()) {
        copy.Double(*strand.split_value);
      } else {
        copy.Null();
      }
    }
  }
  STEPCURVE_RETURN_IF_ERROR(copy.Finish());
  return strands;
}

// Whether a point's coordinates differ from its parameters.
bool HasMultiplied(const SearchSpace& space) {
  return absl::c_any_of(space,
                        [](const SpaceEntry& entry) { return !std::holds_alternative<std::monostate>(entry.times); });
}

absl::Status CopyTrials(PgConnection& connection, const std::vector<PlannedStrand>& strands) {
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(connection, kCopyTrials));
  ForEachInHandOutOrder(strands, [&copy](const PlannedStrand& strand, const NewTrial& trial) {
    copy.Row(8);
    copy.Int64(strand.study_id);
    copy.Int64(strand.strand_id);
    copy.Int64(trial.number);
    copy.Int64(trial.position);
    copy.Int64(static_cast<int64_t>(trial.training_seed));
    copy.Int32(trial.repeat);
    copy.Doubles(trial.point.parameters);
    if (HasMultiplied(strand.definition->space)) {
      copy.Doubles(trial.point.coordinates);
    } else {
      copy.Null();
    }
  });
  return copy.Finish();
}

// All of a sweep in one transaction, or the sweep that has its request or its name.
absl::StatusOr<Written> WriteSweep(const Database::Options& options, const SweepPlan& plan, const SweepSource& source) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::unique_ptr<PgConnection> connection, PgConnection::Open(options));
  STEPCURVE_ASSIGN_OR_RETURN(PgTransaction transaction, PgTransaction::Begin(*connection));
  STEPCURVE_ASSIGN_OR_RETURN(const std::optional<int64_t> sweep, InsertSweep(*connection, plan, source));
  if (!sweep.has_value()) {
    return FindTwin(*connection, plan, source);
  }
  STEPCURVE_ASSIGN_OR_RETURN(const auto workload_ids, UpsertWorkloads(*connection, plan));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> study_ids,
                             ReserveIds(*connection, "studies", plan.studies.size()));
  STEPCURVE_RETURN_IF_ERROR(CopyStudies(*connection, plan, *sweep, study_ids, workload_ids));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<PlannedStrand> strands, CopyStrands(*connection, plan, study_ids));
  STEPCURVE_RETURN_IF_ERROR(CopyTrials(*connection, strands));
  STEPCURVE_RETURN_IF_ERROR(transaction.Commit());
  return Written{.sweep = *sweep};
}

}  // namespace

absl::StatusOr<SweepStore::Created> SweepStore::Create(const SweepPlan& plan, const SweepSource& source) {
  // ABORTED has changed nothing. UNKNOWN may have: then the repeat finds the sweep by its request.
  absl::StatusOr<Written> written;
  bool in_doubt = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    written = WriteSweep(database_->options(), plan, source);
    if (!absl::IsAborted(written.status()) && !absl::IsUnknown(written.status())) {
      break;
    }
    in_doubt |= absl::IsUnknown(written.status());
  }
  STEPCURVE_RETURN_IF_ERROR(written.status());
  STEPCURVE_ASSIGN_OR_RETURN(SweepRow sweep, Find(absl::StrCat(written->sweep)));
  return Created{.sweep = std::move(sweep), .created = written->created || (in_doubt && written->same_request)};
}

}  // namespace stepcurve
