// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_parents.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "proto/support/status_macros.h"
#include "server/core/sweep_plan.h"
#include "server/store/copy_writer.h"

namespace stepcurve {
namespace {

constexpr char kCapped[] = "SELECT id FROM sweeps WHERE id = ANY ($1) AND max_running IS NOT NULL";

// Of a sweep whose running trials are counted the row is written; of one that is only added to, it must not end
// meanwhile.
constexpr char kLockToWrite[] =
    "SELECT id, state IN ('active', 'paused') FROM sweeps WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";
constexpr char kLockToAdd[] =
    "SELECT id, state IN ('active', 'paused') FROM sweeps WHERE id = ANY ($1) ORDER BY id FOR KEY SHARE";

constexpr char kLockStrands[] = R"sql(
SELECT id, wanted, max_trials, created, queued, running, complete, infeasible, stopped, failed, cancelled
  FROM strands WHERE id = ANY ($1) ORDER BY id FOR UPDATE)sql";

constexpr char kCopyTrials[] =
    "COPY trials (study_id, strand_id, number, position, training_seed, repeat, parameters, coordinates)"
    " FROM STDIN (FORMAT binary)";

constexpr char kMoveStrands[] = R"sql(
UPDATE strands s
   SET created = u.created, queued = u.queued, running = u.running, complete = u.complete, infeasible = u.infeasible,
       failed = u.failed
  FROM unnest($1, $2, $3, $4, $5, $6, $7) u(id, created, queued, running, complete, infeasible, failed)
 WHERE s.id = u.id)sql";

constexpr char kMoveSweeps[] = R"sql(
UPDATE sweeps w SET running = w.running - u.count
  FROM unnest($1, $2) u(id, count) WHERE w.id = u.id AND w.max_running IS NOT NULL)sql";

constexpr char kMoveStudies[] = R"sql(
UPDATE studies y SET results_version = y.results_version + u.count
  FROM unnest($1, $2) u(id, count) WHERE y.id = u.id)sql";

struct Columns {
  std::vector<int64_t> keys, values;
  explicit Columns(const std::map<int64_t, int64_t>& map) {
    for (const auto& [key, value] : map) {
      keys.push_back(key);
      values.push_back(value);
    }
  }
};

}  // namespace

FlushParents::FlushParents(PgConnection* connection, const FlushStudies* studies, const std::vector<TrialMove>& moves)
    : connection_(connection), studies_(studies) {
  for (const TrialMove& move : moves) {
    if (!move.ends_attempt()) {
      continue;
    }
    const FlushStudy& study = studies_->at(move.before.study);
    Strand& strand = strands_[move.before.strand];
    strand.study = move.before.study;
    ++strand.left[move.state];
    ++left_[study.sweep];
    if (move.ends_trial()) {
      ++ended_[move.before.study];
    }
    if (move.state == TrialState::kInfeasible && study.definition.top_up) {
      may_grow_.insert(study.sweep);
      for (const FlushStudy::Strand& sibling : study.strands) {  // Numbers count through all of them.
        strands_[sibling.id].study = move.before.study;
      }
    }
  }
}

absl::Status FlushParents::Lock() {
  if (strands_.empty()) {
    return absl::OkStatus();
  }
  STEPCURVE_RETURN_IF_ERROR(LockSweeps());
  return LockStrands();
}

absl::Status FlushParents::LockSweeps() {
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult rows,
                             connection_->Execute(kCapped, PgParams().Int64s(Columns(left_).keys)));
  std::map<int64_t, bool> to_write;  // Sweeps to lock, and whether to be written.
  for (const int64_t sweep : may_grow_) {
    to_write[sweep] = false;
  }
  for (int row = 0; row < rows.rows(); ++row) {
    to_write[rows.Int64(row, 0)] = true;
  }
  // One statement for each run of sweeps that are locked alike, so that ids ascend over all of them.
  for (auto first = to_write.begin(); first != to_write.end();) {
    std::vector<int64_t> run;
    const bool write = first->second;
    for (; first != to_write.end() && first->second == write; ++first) {
      run.push_back(first->first);
    }
    STEPCURVE_ASSIGN_OR_RETURN(const PgResult locked,
                               connection_->Execute(write ? kLockToWrite : kLockToAdd, PgParams().Int64s(run)));
    for (int row = 0; row < locked.rows(); ++row) {
      if (!locked.Bool(row, 1)) {
        may_grow_.erase(locked.Int64(row, 0));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status FlushParents::LockStrands() {
  std::vector<int64_t> ids;
  for (const auto& [id, strand] : strands_) {
    ids.push_back(id);
  }
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult rows, connection_->Execute(kLockStrands, PgParams().Int64s(ids)));
  for (int row = 0; row < rows.rows(); ++row) {
    const int64_t id = rows.Int64(row, 0);
    Strand& strand = strands_.at(id);
    StrandSnapshot& before = strand.before;
    before.strand = id;
    before.study = strand.study;
    before.wanted = rows.Int64(row, 1);
    before.max_trials = rows.Int64(row, 2);
    before.created = rows.Int64(row, 3);
    constexpr TrialState kOrder[] = {TrialState::kQueued,     TrialState::kRunning, TrialState::kComplete,
                                     TrialState::kInfeasible, TrialState::kStopped, TrialState::kFailed,
                                     TrialState::kCancelled};
    for (int i = 0; i < 7; ++i) {
      before.counts[kOrder[i]] = rows.Int64(row, 4 + i);
    }
    const FlushStudy& study = studies_->at(strand.study);
    before.may_grow = study.definition.top_up && may_grow_.count(study.sweep) > 0;
    for (const FlushStudy::Strand& known : study.strands) {
      if (known.id == id) {
        before.sampler_size = known.sampler.size();
      }
    }
    strand.move = DecideStrand(before, strand.left);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> FlushParents::Move() {
  std::vector<int64_t> idle;
  if (strands_.empty()) {
    return idle;
  }
  STEPCURVE_RETURN_IF_ERROR(TopUp());
  STEPCURVE_RETURN_IF_ERROR(MoveStrands());
  STEPCURVE_RETURN_IF_ERROR(MoveSweepsAndStudies());
  std::set<int64_t> sweeps;
  for (const auto& [id, strand] : strands_) {
    if (strand.move.counts.open() == 0) {
      sweeps.insert(studies_->at(strand.study).sweep);
    }
  }
  return std::vector<int64_t>(sweeps.begin(), sweeps.end());
}

absl::Status FlushParents::TopUp() {
  std::map<int64_t, int64_t> next_number;  // By study: of its next point.
  int64_t total = 0;
  for (const auto& [id, strand] : strands_) {
    next_number.try_emplace(strand.study, 1).first->second += strand.before.created;
    total += strand.move.top_up;
  }
  if (total == 0) {
    return absl::OkStatus();
  }
  STEPCURVE_ASSIGN_OR_RETURN(CopyWriter copy, CopyWriter::Begin(*connection_, kCopyTrials));
  for (const auto& [id, strand] : strands_) {
    const FlushStudy& study = studies_->at(strand.study);
    for (const FlushStudy::Strand& known : study.strands) {
      if (known.id != id || strand.move.top_up == 0) {
        continue;
      }
      const SearchSpace& space = study.definition.space;
      const bool multiplied = std::any_of(space.begin(), space.end(), [](const SpaceEntry& entry) {
        return !std::holds_alternative<std::monostate>(entry.times);
      });
      int64_t& number = next_number.at(strand.study);
      for (const NewTrial& trial :
           NewTrials(study.definition, known.sampler, strand.before.created, strand.move.top_up, number)) {
        copy.Row(8);
        copy.Int64(strand.study);
        copy.Int64(id);
        copy.Int64(trial.number);
        copy.Int64(trial.position);
        copy.Int64(static_cast<int64_t>(trial.training_seed));
        copy.Int32(trial.repeat);
        copy.Doubles(trial.point.parameters);
        if (multiplied) {
          copy.Doubles(trial.point.coordinates);
        } else {
          copy.Null();  // They are the parameters.
        }
      }
      number += strand.move.top_up;
    }
  }
  return copy.Finish();
}

absl::Status FlushParents::MoveStrands() {
  std::vector<int64_t> ids, created, queued, running, complete, infeasible, failed;
  for (const auto& [id, strand] : strands_) {
    const StateCounts& counts = strand.move.counts;
    ids.push_back(id);
    created.push_back(strand.before.created + strand.move.top_up);
    queued.push_back(counts[TrialState::kQueued]);
    running.push_back(counts[TrialState::kRunning]);
    complete.push_back(counts[TrialState::kComplete]);
    infeasible.push_back(counts[TrialState::kInfeasible]);
    failed.push_back(counts[TrialState::kFailed]);
  }
  return connection_
      ->Execute(kMoveStrands, PgParams()
                                  .Int64s(ids)
                                  .Int64s(created)
                                  .Int64s(queued)
                                  .Int64s(running)
                                  .Int64s(complete)
                                  .Int64s(infeasible)
                                  .Int64s(failed))
      .status();
}

absl::Status FlushParents::MoveSweepsAndStudies() {
  const Columns sweeps(left_);
  STEPCURVE_RETURN_IF_ERROR(
      connection_->Execute(kMoveSweeps, PgParams().Int64s(sweeps.keys).Int64s(sweeps.values)).status());
  if (ended_.empty()) {
    return absl::OkStatus();
  }
  const Columns studies(ended_);
  return connection_->Execute(kMoveStudies, PgParams().Int64s(studies.keys).Int64s(studies.values)).status();
}

}  // namespace stepcurve
