// SPDX-License-Identifier: Apache-2.0
#include "server/store/session_release.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/core/state.h"
#include "server/store/pg_array.h"
#include "server/store/pinned_plans.h"
#include "server/store/records_from_chunks.h"
#include "server/store/session_store.h"

namespace stepcurve {
namespace {

constexpr char kParents[] = R"sql(
SELECT DISTINCT t.strand_id, y.sweep_id
  FROM unnest($1::bigint[]) u(id)
  JOIN trials t ON t.id = u.id
  JOIN studies y ON y.id = t.study_id)sql";

// Only sweeps whose running trials are counted are written.
constexpr char kLockSweeps[] = R"sql(
SELECT id FROM sweeps WHERE id = ANY ($1::bigint[]) AND max_running IS NOT NULL ORDER BY id FOR NO KEY UPDATE)sql";

constexpr char kLockStrands[] = R"sql(
SELECT id FROM strands WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE)sql";

constexpr char kLockTrials[] = R"sql(
SELECT t.id, t.study_id, t.strand_id, t.attempt, t.base_step IS NOT NULL, t.losses
  FROM unnest($1::bigint[]) u(id)
  JOIN trials t ON t.id = u.id
 WHERE t.session_id = ANY ($2::bigint[]) AND t.state = 'running'
 ORDER BY t.id
   FOR NO KEY UPDATE OF t)sql";

constexpr char kKeepAttempts[] = R"sql(
INSERT INTO past_attempts (trial_id, attempt, session_id, slot_class, base_step, last_step, start_time, outcome, error)
SELECT t.id, t.attempt, t.session_id, t.slot_class, t.base_step,
       CASE WHEN t.base_step IS NULL THEN -1 ELSE t.last_step END, t.grant_time, $2, s.end_reason
  FROM unnest($1::bigint[]) u(id)
  JOIN trials t ON t.id = u.id
  JOIN sessions s ON s.id = t.session_id)sql";

constexpr char kMoveTrials[] = R"sql(
UPDATE trials t
   SET losses = u.losses, session_id = NULL, slot_class = NULL,
       state = (CASE WHEN u.failed > 0 THEN 'failed' ELSE 'queued' END)::trial_state,
       base_step = CASE WHEN u.failed > 0 THEN t.base_step END,
       end_time = CASE WHEN u.failed > 0 THEN now() END,
       end_reason = CASE WHEN u.failed > 0 THEN 'lost_too_often'::end_reason END,
       error = CASE WHEN u.failed > 0 THEN 'its worker was lost ' || u.losses || ' times' ELSE t.error END
  FROM unnest($1::bigint[], $2::integer[], $3::integer[]) u(id, losses, failed)
 WHERE t.id = u.id)sql";

constexpr char kRequeue[] = R"sql(
INSERT INTO requeued (trial_id, strand_id) SELECT * FROM unnest($1::bigint[], $2::bigint[]))sql";

constexpr char kMoveStrands[] = R"sql(
UPDATE strands s
   SET running = s.running - u.queued - u.failed, queued = s.queued + u.queued, failed = s.failed + u.failed
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(id, queued, failed)
 WHERE s.id = u.id
RETURNING s.id, s.queued + s.running = 0)sql";

constexpr char kMoveSweeps[] = R"sql(
UPDATE sweeps w SET running = w.running - u.count
  FROM unnest($1::bigint[], $2::bigint[]) u(id, count)
 WHERE w.id = u.id AND w.max_running IS NOT NULL)sql";

constexpr char kRaiseVersions[] = R"sql(
UPDATE studies y SET results_version = y.results_version + u.ended
  FROM (SELECT id, count(*) AS ended FROM unnest($1::bigint[]) v(id) GROUP BY id ORDER BY id) u
 WHERE y.id = u.id)sql";

std::vector<int64_t> Keys(const std::set<int64_t>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

absl::StatusOr<std::vector<int64_t>> GiveUp(pqxx::work& work, const GivenUp& given_up) {
  std::map<int64_t, int64_t> sweep_of_strand;
  std::set<int64_t> sweeps, strands;
  for (const auto& row : work.exec_params(kParents, ArrayText(given_up.trials))) {
    strands.insert(row[0].as<int64_t>());
    sweeps.insert(row[1].as<int64_t>());
    sweep_of_strand[row[0].as<int64_t>()] = row[1].as<int64_t>();
  }
  work.exec_params(kLockSweeps, ArrayText(Keys(sweeps)));
  work.exec_params(kLockStrands, ArrayText(Keys(strands)));

  std::vector<int64_t> trials, queued, queued_strands, failed, failed_attempts, failed_studies;
  std::vector<int32_t> losses, fails;
  std::map<int64_t, std::pair<int64_t, int64_t>> by_strand;  // Queued, failed.
  for (const auto& row : work.exec_params(kLockTrials, ArrayText(given_up.trials), ArrayText(given_up.sessions))) {
    const int64_t trial = row[0].as<int64_t>();
    const int64_t strand = row[2].as<int64_t>();
    const bool counts = given_up.lost && row[4].as<bool>();
    trials.push_back(trial);
    losses.push_back(row[5].as<int32_t>() + (counts ? 1 : 0));
    fails.push_back(counts && losses.back() >= given_up.caps.losses ? 1 : 0);
    if (fails.back() > 0) {
      failed.push_back(trial);
      failed_studies.push_back(row[1].as<int64_t>());
      failed_attempts.push_back(row[3].as<int64_t>());
      ++by_strand[strand].second;
    } else {
      queued.push_back(trial);
      queued_strands.push_back(strand);
      ++by_strand[strand].first;
    }
  }
  if (trials.empty()) {
    return std::vector<int64_t>();
  }
  work.exec_params(kKeepAttempts, ArrayText(trials), given_up.outcome);
  work.exec_params(kMoveTrials, ArrayText(trials), ArrayText(losses), ArrayText(fails));
  work.exec_params(kRequeue, ArrayText(queued), ArrayText(queued_strands));
  if (!failed.empty()) {
    // Rare: a loss is one of twenty before it ends a trial.
    STEPCURVE_RETURN_IF_ERROR(WriteRecords(work, failed, failed_attempts));
    work.exec_params(kRaiseVersions, ArrayText(failed_studies));
  }

  std::vector<int64_t> ids, queued_counts, failed_counts;
  std::map<int64_t, int64_t> by_sweep;
  for (const auto& [strand, counts] : by_strand) {
    ids.push_back(strand);
    queued_counts.push_back(counts.first);
    failed_counts.push_back(counts.second);
    by_sweep[sweep_of_strand.at(strand)] += counts.first + counts.second;
  }
  std::set<int64_t> idle;
  for (const auto& row :
       work.exec_params(kMoveStrands, ArrayText(ids), ArrayText(queued_counts), ArrayText(failed_counts))) {
    if (row[1].as<bool>()) {
      idle.insert(sweep_of_strand.at(row[0].as<int64_t>()));
    }
  }
  std::vector<int64_t> sweep_ids, given_back;
  for (const auto& [sweep, count] : by_sweep) {
    sweep_ids.push_back(sweep);
    given_back.push_back(count);
  }
  work.exec_params(kMoveSweeps, ArrayText(sweep_ids), ArrayText(given_back));
  return Keys(idle);
}

namespace {

// Sessions of one slice. Their number bounds the look-up of their grants, `limit` the trials.
constexpr char kEndedSessions[] = R"sql(
SELECT id FROM sessions
 WHERE ended_at IS NOT NULL AND NOT released ORDER BY id LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED)sql";

constexpr char kStillOut[] = R"sql(
SELECT DISTINCT t.id
  FROM grants g
 CROSS JOIN LATERAL unnest(g.trial_ids) x(id)
  JOIN trials t ON t.id = x.id
 WHERE g.session_id = ANY ($1::bigint[]) AND t.session_id = g.session_id AND t.state = 'running'
 ORDER BY t.id
 LIMIT $2)sql";

constexpr char kReleased[] = "UPDATE sessions SET released = true WHERE id = ANY ($1::bigint[])";
constexpr char kDropGrants[] = "DELETE FROM grants WHERE session_id = ANY ($1::bigint[])";

}  // namespace

absl::StatusOr<SessionStore::ReleaseResult> SessionStore::ReleaseEnded(int limit) {
  ReleaseResult result;
  STEPCURVE_RETURN_IF_ERROR(options_.database->Transaction([&](pqxx::work& work) -> absl::Status {
    result = {};
    work.exec(kPinPlans);
    GivenUp given_up{.outcome = "lost", .lost = true, .caps = options_.caps};
    for (const auto& row : work.exec(kEndedSessions)) {
      given_up.sessions.push_back(row[0].as<int64_t>());
    }
    if (given_up.sessions.empty()) {
      return absl::OkStatus();
    }
    for (const auto& row : work.exec_params(kStillOut, ArrayText(given_up.sessions), limit)) {
      given_up.trials.push_back(row[0].as<int64_t>());
    }
    if (!given_up.trials.empty()) {
      STEPCURVE_ASSIGN_OR_RETURN(result.sweeps_to_check, GiveUp(work, given_up));
    }
    if (given_up.trials.size() == static_cast<size_t>(limit)) {
      result.more = true;
      return absl::OkStatus();
    }
    work.exec_params(kReleased, ArrayText(given_up.sessions));
    work.exec_params(kDropGrants, ArrayText(given_up.sessions));
    result.more = given_up.sessions.size() == 100;
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace stepcurve
