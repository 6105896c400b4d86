// SPDX-License-Identifier: Apache-2.0
#include "server/store/claim_grant.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"

namespace stepcurve {
namespace {

// KEY SHARE: whoever ends a session or moves its stream waits for us, heartbeats do not.
constexpr char kLockSessions[] = R"sql(
SELECT id, stream, draining FROM sessions
 WHERE id = ANY ($1::bigint[]) AND ended_at IS NULL ORDER BY id FOR KEY SHARE)sql";

constexpr char kLockSweeps[] = R"sql(
SELECT id, max_running - running FROM sweeps
 WHERE id = ANY ($1::bigint[]) AND state = 'active' ORDER BY id FOR NO KEY UPDATE)sql";

constexpr char kLockStrands[] = R"sql(
SELECT id, created, granted, queued FROM strands WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE)sql";

// Per strand the oldest rows, except those that must avoid the only session ($3, 0: there are several) that would get
// them: for half a minute, and while another session lives.
constexpr char kTakeRequeued[] = R"sql(
WITH taken AS MATERIALIZED (
  SELECT r.trial_id
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(strand, count, session)
   CROSS JOIN LATERAL (
         SELECT q.trial_id FROM requeued q
          WHERE q.strand_id = u.strand
            AND (q.avoid IS DISTINCT FROM u.session OR q.at < now() - interval '30 seconds'
                 OR NOT EXISTS (SELECT 1 FROM sessions o
                                 WHERE o.ended_at IS NULL AND NOT o.draining AND o.id <> u.session))
          ORDER BY q.at, q.trial_id LIMIT u.count FOR UPDATE SKIP LOCKED) r)
DELETE FROM requeued q USING taken t WHERE q.trial_id = t.trial_id
RETURNING q.trial_id, q.strand_id, coalesce(q.avoid, 0))sql";

// $1 sessions, $2 worker names and $3 slot classes by share; `source` gives a trial and its share. Trials that are no
// longer queued are passed over; CASE keeps the planner from the guess that there are hardly any, and so from scanning
// all trials for them.
std::string Grants(absl::string_view source) {
  return absl::StrCat(R"sql(
UPDATE trials t
   SET state = 'running', attempt = t.attempt + 1, grant_time = now(), base_step = NULL,
       session_id = ($1::bigint[])[u.share], worker_name = ($2::text[])[u.share],
       slot_class = ($3::integer[])[u.share]
  FROM )sql",
                      source, R"sql( AND CASE WHEN t.state = 'queued' THEN true END
RETURNING u.share, t.id, t.attempt, t.study_id, t.strand_id, t.number, t.repeat, t.training_seed, t.parameters)sql");
}
constexpr char kRequeuedSource[] = "unnest($4::bigint[], $5::integer[]) u(id, share) WHERE t.id = u.id";
constexpr char kFreshSource[] =
    "unnest($4::bigint[], $5::integer[], $6::bigint[]) u(strand, share, position)"
    " WHERE t.strand_id = u.strand AND t.position = u.position";

constexpr char kKeepGrants[] = R"sql(
INSERT INTO grants (session_id, trial_ids)
SELECT u.session, array_agg(u.trial ORDER BY u.trial)
  FROM unnest($1::bigint[], $2::bigint[]) u(session, trial) GROUP BY u.session)sql";

constexpr char kMoveStrands[] = R"sql(
UPDATE strands s
   SET granted = u.granted, grants = s.grants + u.taken, queued = s.queued - u.taken, running = s.running + u.taken
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(id, granted, taken)
 WHERE s.id = u.id)sql";

constexpr char kMoveSweeps[] = R"sql(
UPDATE sweeps w
   SET pass = w.pass + u.taken, running = CASE WHEN w.max_running IS NULL THEN w.running ELSE w.running + u.taken END
  FROM unnest($1::bigint[], $2::bigint[]) u(id, taken)
 WHERE w.id = u.id)sql";

struct LockedStrand {
  int64_t created = 0;
  int64_t granted = 0;
  int64_t queued = 0;
  int64_t taken = 0;
};
using Strands = std::map<int64_t, LockedStrand>;

// Shares of one strand lie side by side: calls `body(strand, first share, past)` for each strand.
template <typename Body>
void ForEachStrand(const std::vector<ClaimShare>& shares, Body body) {
  for (size_t first = 0; first < shares.size();) {
    size_t past = first;
    while (past < shares.size() && shares[past].strand == shares[first].strand) {
      ++past;
    }
    body(shares[first].strand, first, past);
    first = past;
  }
}

// Locks the plan's sessions and drops the shares of those that may be granted nothing any more.
std::vector<int64_t> LockSessions(pqxx::work& work, PlannedShares& plan) {
  std::set<int64_t> ids, gone;
  for (const ClaimShare& share : plan.shares) {
    ids.insert(share.session);
  }
  gone = ids;
  std::set<int64_t> draining;
  for (const auto& row : work.exec_params(kLockSessions, ArrayText(std::vector<int64_t>(ids.begin(), ids.end())))) {
    const int64_t session = row[0].as<int64_t>();
    if (row[1].as<int64_t>() == plan.sessions.at(session)->stream) {
      gone.erase(session);
    }
    if (row[2].as<bool>()) {
      draining.insert(session);
    }
  }
  std::erase_if(plan.shares,
                [&](const ClaimShare& share) { return gone.count(share.session) + draining.count(share.session) > 0; });
  return {gone.begin(), gone.end()};
}

// Locks the plan's sweeps and strands, and cuts its shares to what is there now.
Strands LockParents(pqxx::work& work, PlannedShares& plan) {
  std::set<int64_t> sweep_ids, strand_ids;
  for (const ClaimShare& share : plan.shares) {
    sweep_ids.insert(plan.sweep_of_strand.at(share.strand));
    strand_ids.insert(share.strand);
  }
  std::map<int64_t, int64_t> room;
  for (const auto& row :
       work.exec_params(kLockSweeps, ArrayText(std::vector<int64_t>(sweep_ids.begin(), sweep_ids.end())))) {
    room[row[0].as<int64_t>()] = row[1].is_null() ? INT64_MAX : row[1].as<int64_t>();
  }
  Strands strands;
  for (const auto& row :
       work.exec_params(kLockStrands, ArrayText(std::vector<int64_t>(strand_ids.begin(), strand_ids.end())))) {
    strands[row[0].as<int64_t>()] = {row[1].as<int64_t>(), row[2].as<int64_t>(), row[3].as<int64_t>()};
  }
  std::map<int64_t, int64_t> left;
  for (const auto& [id, strand] : strands) {
    left[id] = strand.queued;
  }
  for (ClaimShare& share : plan.shares) {
    int64_t& of_sweep = room[plan.sweep_of_strand.at(share.strand)];  // A sweep that is no longer active has none.
    share.count = std::max<int64_t>(0, std::min({share.count, of_sweep, left[share.strand]}));
    of_sweep -= share.count;
    left[share.strand] -= share.count;
  }
  std::erase_if(plan.shares, [](const ClaimShare& share) { return share.count == 0; });
  return strands;
}

struct RequeuedTrial {
  int64_t trial = 0;
  int64_t avoid = 0;
};

std::map<int64_t, std::vector<RequeuedTrial>> TakeRequeued(pqxx::work& work, const PlannedShares& plan,
                                                           const Strands& strands) {
  std::vector<int64_t> ids, counts, only;
  ForEachStrand(plan.shares, [&](int64_t strand, size_t first, size_t past) {
    const LockedStrand& locked = strands.at(strand);
    if (locked.queued <= locked.created - locked.granted) {
      return;
    }
    int64_t count = 0;
    int64_t session = plan.shares[first].session;
    for (size_t i = first; i < past; ++i) {
      count += plan.shares[i].count;
      session = plan.shares[i].session == session ? session : 0;
    }
    ids.push_back(strand);
    counts.push_back(std::min(count, locked.queued));
    only.push_back(session);
  });
  std::map<int64_t, std::vector<RequeuedTrial>> taken;
  if (!ids.empty()) {
    for (const auto& row : work.exec_params(kTakeRequeued, ArrayText(ids), ArrayText(counts), ArrayText(only))) {
      taken[row[1].as<int64_t>()].push_back({row[0].as<int64_t>(), row[2].as<int64_t>()});
    }
  }
  return taken;
}

// Arrays for the two grant statements. Shares count from 1 there.
struct Orders {
  std::vector<std::pair<int64_t, int32_t>> requeued;  // (trial, share).
  std::vector<int64_t> strands, positions;            // Of fresh ones, with `shares`.
  std::vector<int32_t> shares;
};

// Gives each requeued trial to a share of its strand, one of another session than the one to avoid if there is one,
// then moves the cursor for the rest.
Orders Order(PlannedShares& plan, Strands& strands, std::map<int64_t, std::vector<RequeuedTrial>> requeued) {
  Orders orders;
  ForEachStrand(plan.shares, [&](int64_t strand, size_t first, size_t past) {
    std::vector<RequeuedTrial>& back = requeued[strand];
    std::stable_partition(back.begin(), back.end(), [](const RequeuedTrial& trial) { return trial.avoid != 0; });
    for (const RequeuedTrial& trial : back) {
      size_t chosen = past;
      for (size_t i = first; i < past; ++i) {
        if (plan.shares[i].count > 0 && (chosen == past || plan.shares[chosen].session == trial.avoid)) {
          chosen = i;
        }
      }
      --plan.shares[chosen].count;
      orders.requeued.emplace_back(trial.trial, static_cast<int32_t>(chosen) + 1);
    }
    LockedStrand& locked = strands.at(strand);
    for (size_t i = first; i < past; ++i) {
      const int64_t cursor = std::min(locked.granted + plan.shares[i].count, locked.created);
      for (; locked.granted < cursor; ++locked.granted) {
        orders.strands.push_back(strand);
        orders.positions.push_back(locked.granted);
        orders.shares.push_back(static_cast<int32_t>(i) + 1);
      }
    }
  });
  std::sort(orders.requeued.begin(), orders.requeued.end());
  return orders;
}

absl::Status AddGrants(const pqxx::result& rows, const PlannedShares& plan, std::vector<Grant>& grants) {
  for (const auto& row : rows) {
    const ClaimShare& share = plan.shares[static_cast<size_t>(row[0].as<int32_t>()) - 1];
    Grant& grant = grants.emplace_back();
    grant.session = share.session;
    grant.slot_class = share.slot_class;
    grant.trial = row[1].as<int64_t>();
    grant.attempt = row[2].as<int64_t>();
    grant.study = row[3].as<int64_t>();
    grant.strand = row[4].as<int64_t>();
    grant.sweep = plan.sweep_of_strand.at(grant.strand);
    grant.number = row[5].as<int64_t>();
    grant.repeat = row[6].as<int32_t>();
    grant.training_seed = static_cast<uint64_t>(row[7].as<int64_t>());
    STEPCURVE_ASSIGN_OR_RETURN(grant.parameters, ParseDoubleArray(row[8].c_str()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Grant>> GrantTrials(pqxx::work& work, const PlannedShares& plan, const Orders& orders) {
  std::vector<int64_t> sessions;
  std::vector<std::string> names;
  std::vector<int32_t> slot_classes;
  for (const ClaimShare& share : plan.shares) {
    sessions.push_back(share.session);
    names.push_back(plan.sessions.at(share.session)->worker_name);
    slot_classes.push_back(share.slot_class);
  }
  const std::string session_array = ArrayText(sessions);
  const std::string name_array = ArrayText(names);
  const std::string slot_class_array = ArrayText(slot_classes);
  std::vector<Grant> grants;
  if (!orders.requeued.empty()) {
    std::vector<int64_t> trials;
    std::vector<int32_t> shares;
    for (const auto& [trial, share] : orders.requeued) {
      trials.push_back(trial);
      shares.push_back(share);
    }
    STEPCURVE_RETURN_IF_ERROR(AddGrants(work.exec_params(Grants(kRequeuedSource), session_array, name_array,
                                                         slot_class_array, ArrayText(trials), ArrayText(shares)),
                                        plan, grants));
  }
  if (!orders.strands.empty()) {
    STEPCURVE_RETURN_IF_ERROR(
        AddGrants(work.exec_params(Grants(kFreshSource), session_array, name_array, slot_class_array,
                                   ArrayText(orders.strands), ArrayText(orders.shares), ArrayText(orders.positions)),
                  plan, grants));
  }
  return grants;
}

void MoveParents(pqxx::work& work, const std::vector<Grant>& grants, Strands& strands) {
  std::vector<int64_t> sessions, trials;
  std::map<int64_t, int64_t> by_sweep;
  for (const Grant& grant : grants) {
    sessions.push_back(grant.session);
    trials.push_back(grant.trial);
    ++by_sweep[grant.sweep];
    ++strands.at(grant.strand).taken;
  }
  work.exec_params(kKeepGrants, ArrayText(sessions), ArrayText(trials));
  std::vector<int64_t> ids, granted, taken;
  for (const auto& [id, strand] : strands) {
    ids.push_back(id);
    granted.push_back(strand.granted);
    taken.push_back(strand.taken);
  }
  work.exec_params(kMoveStrands, ArrayText(ids), ArrayText(granted), ArrayText(taken));
  std::vector<int64_t> sweeps, counts;
  for (const auto& [sweep, count] : by_sweep) {
    sweeps.push_back(sweep);
    counts.push_back(count);
  }
  work.exec_params(kMoveSweeps, ArrayText(sweeps), ArrayText(counts));
}

}  // namespace

absl::StatusOr<ClaimStore::Result> GrantShares(pqxx::work& work, PlannedShares plan) {
  ClaimStore::Result result;
  result.gone = LockSessions(work, plan);
  if (plan.shares.empty()) {
    return result;
  }
  Strands strands = LockParents(work, plan);
  if (plan.shares.empty()) {
    return result;
  }
  const Orders orders = Order(plan, strands, TakeRequeued(work, plan, strands));
  STEPCURVE_ASSIGN_OR_RETURN(result.grants, GrantTrials(work, plan, orders));
  MoveParents(work, result.grants, strands);
  std::sort(result.grants.begin(), result.grants.end(),
            [](const Grant& a, const Grant& b) { return a.trial < b.trial; });
  return result;
}

}  // namespace stepcurve
