// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/pinned_plans.h"
#include "server/store/records_from_chunks.h"
#include "server/store/sweep_store.h"

namespace stepcurve {
namespace {

constexpr int64_t kSlice = 10'000;

// The lock keeps other slices away; flushes, which hold the sweep by KEY SHARE, go on.
constexpr char kLockSweep[] = R"sql(
  SELECT id FROM sweeps WHERE cancel_pending ORDER BY id LIMIT 1 FOR NO KEY UPDATE
)sql";

// Nothing is granted or added to a cancelled sweep, so what is open here only shrinks.
constexpr char kLockStrands[] = R"sql(
  SELECT d.id, d.granted, d.created FROM strands d JOIN studies s ON s.id = d.study_id
   WHERE s.sweep_id = $1 AND (d.queued > 0 OR d.running > 0) ORDER BY d.id LIMIT $2 FOR UPDATE OF d
)sql";

// Those below the cursors: running or requeued. One look at a strand's past suffices, as none come after.
constexpr char kHeld[] = R"sql(
  SELECT t.id FROM strands d CROSS JOIN LATERAL (
         SELECT x.id FROM trials x
          WHERE x.strand_id = d.id AND x.position < d.granted AND x.state IN ('queued', 'running')) t
   WHERE d.id = ANY ($1::bigint[]) AND (d.running > 0 OR d.queued > d.created - d.granted) LIMIT $2
)sql";

// Those from the cursors on: $2 of each strand.
constexpr char kFresh[] = R"sql(
  SELECT t.id FROM unnest($1::bigint[], $2::bigint[]) d(id, count) JOIN strands s ON s.id = d.id CROSS JOIN LATERAL (
         SELECT x.id FROM trials x
          WHERE x.strand_id = d.id AND x.position >= s.granted AND x.position < s.granted + d.count) t
)sql";

constexpr char kLockTrials[] = R"sql(
  SELECT id FROM trials WHERE id = ANY ($1::bigint[]) AND state IN ('queued', 'running') ORDER BY id FOR UPDATE
)sql";

// Of what the transaction has locked: the trials of which something may be stored, and the attempts, 0 where the current
// one has not started.
constexpr char kGranted[] = R"sql(
  SELECT id, CASE WHEN state = 'running' AND base_step IS NOT NULL THEN attempt ELSE 0 END FROM trials
   WHERE id = ANY ($1::bigint[]) AND attempt > 0 ORDER BY id
)sql";

constexpr char kEndAttempts[] = R"sql(
  INSERT INTO past_attempts (trial_id, attempt, session_id, slot_class, base_step, last_step, start_time, outcome)
  SELECT id, attempt, session_id, slot_class, base_step, CASE WHEN base_step IS NULL THEN -1 ELSE last_step END,
         coalesce(grant_time, now()), 'cancelled'
    FROM trials WHERE id = ANY ($1::bigint[]) AND state = 'running' ORDER BY id
)sql";

// Turns the trials, which the transaction has locked in order, and moves their strands' counts and cursors.
constexpr char kTurn[] = R"sql(
  WITH old AS MATERIALIZED (SELECT id, strand_id, study_id, state, attempt, position FROM trials WHERE id = ANY ($1::bigint[])),
  turned AS (
    UPDATE trials t SET state = 'cancelled', end_reason = 'cancelled', end_time = now(), session_id = NULL,
           slot_class = NULL
     WHERE t.id = ANY ($1::bigint[])),
  moved AS (
    SELECT strand_id, count(*) FILTER (WHERE state = 'queued') AS queued,
           count(*) FILTER (WHERE state = 'running') AS running, max(position) + 1 AS cursor
      FROM old GROUP BY strand_id),
  counted AS (
    UPDATE strands d SET queued = d.queued - m.queued, running = d.running - m.running,
           cancelled = d.cancelled + m.queued + m.running, granted = greatest(d.granted, m.cursor)
      FROM moved m WHERE d.id = m.strand_id),
  back AS (DELETE FROM requeued r WHERE r.trial_id = ANY ($1::bigint[])),
  versions AS (
    UPDATE studies s SET results_version = s.results_version + 1
     WHERE s.id IN (SELECT y.id FROM studies y WHERE y.id IN (SELECT study_id FROM old WHERE attempt > 0)
                     ORDER BY y.id FOR NO KEY UPDATE))
  SELECT coalesce(sum(running), 0)::bigint FROM moved
)sql";

// `running` is kept only where max_running is set.
constexpr char kSettle[] = R"sql(
  UPDATE sweeps w SET running = CASE WHEN w.max_running IS NULL THEN w.running ELSE w.running - $2::bigint END,
         cancel_pending = EXISTS (SELECT FROM studies s JOIN strands d ON d.study_id = s.id
                                   WHERE s.sweep_id = w.id AND (d.queued > 0 OR d.running > 0))
   WHERE w.id = $1
)sql";

std::vector<int64_t> Ids(const pqxx::result& rows) {
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const pqxx::row& row : rows) {
    ids.push_back(row[0].as<int64_t>());
  }
  return ids;
}

// Up to kSlice open trials of a sweep, locked, ids ascending. Locks their strands first.
std::vector<int64_t> LockSlice(pqxx::work& work, int64_t sweep) {
  const pqxx::result strands = work.exec_params(kLockStrands, sweep, kSlice);
  std::vector<int64_t> trials = Ids(work.exec_params(kHeld, ArrayText(Ids(strands)), kSlice));
  std::vector<int64_t> fresh_strands, fresh_counts;
  int64_t room = kSlice - static_cast<int64_t>(trials.size());
  for (const pqxx::row& strand : strands) {
    const int64_t fresh = std::min(room, strand[2].as<int64_t>() - strand[1].as<int64_t>());
    if (fresh > 0) {
      fresh_strands.push_back(strand[0].as<int64_t>());
      fresh_counts.push_back(fresh);
      room -= fresh;
    }
  }
  const std::vector<int64_t> fresh = Ids(work.exec_params(kFresh, ArrayText(fresh_strands), ArrayText(fresh_counts)));
  trials.insert(trials.end(), fresh.begin(), fresh.end());
  return Ids(work.exec_params(kLockTrials, ArrayText(trials)));
}

}  // namespace

absl::StatusOr<bool> SweepStore::CancelSlice() {
  bool more = false;
  STEPCURVE_RETURN_IF_ERROR(database_->Transaction([&](pqxx::work& work) {
    work.exec(kPinPlans);
    const pqxx::result pending = work.exec(kLockSweep);
    if (pending.empty()) {
      more = false;
      return absl::OkStatus();
    }
    const int64_t sweep = pending[0][0].as<int64_t>();
    const std::vector<int64_t> trials = LockSlice(work, sweep);
    std::vector<int64_t> granted, attempts;
    for (const pqxx::row& row : work.exec_params(kGranted, ArrayText(trials))) {
      granted.push_back(row[0].as<int64_t>());
      attempts.push_back(row[1].as<int64_t>());
    }
    STEPCURVE_RETURN_IF_ERROR(WriteRecords(work, granted, attempts));
    work.exec_params(kEndAttempts, ArrayText(trials));
    const int64_t running = work.exec_params1(kTurn, ArrayText(trials))[0].as<int64_t>();
    work.exec_params(kSettle, sweep, running);
    more = work.exec1("SELECT EXISTS (SELECT FROM sweeps WHERE cancel_pending)")[0].as<bool>();
    return absl::OkStatus();
  }));
  return more;
}

}  // namespace stepcurve
