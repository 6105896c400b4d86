// SPDX-License-Identifier: Apache-2.0
#include "server/store/session_store.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/session_json.h"

namespace stepcurve {
namespace {

// In order of id, as everybody locks; a session that has ended is never revived.
constexpr char kRenew[] = R"sql(
WITH held AS MATERIALIZED (
  SELECT id FROM sessions
   WHERE id = ANY ($1::bigint[]) AND ended_at IS NULL ORDER BY id FOR NO KEY UPDATE)
UPDATE sessions s SET expires_at = clock_timestamp() + $2::double precision * interval '1 second'
  FROM held WHERE s.id = held.id
RETURNING s.id)sql";

// FOR UPDATE: waits for claims under way, and later ones see the end.
constexpr char kEnd[] = R"sql(
WITH one AS MATERIALIZED (SELECT id FROM sessions WHERE id = $1 AND ended_at IS NULL FOR UPDATE)
UPDATE sessions s SET ended_at = clock_timestamp(), end_reason = $2 FROM one WHERE s.id = one.id)sql";

constexpr char kStamp[] = R"sql(
UPDATE service
   SET seen_at = clock_timestamp(),
       available_since = CASE WHEN seen_at < clock_timestamp() - $1::double precision / 3 * interval '1 second'
                              THEN clock_timestamp() ELSE available_since END)sql";

// The test and the row are one: a heartbeat that gets in first is seen, one that comes later finds the session ended.
constexpr char kEndExpired[] = R"sql(
WITH judge AS MATERIALIZED (
  SELECT 1 FROM service
   WHERE seen_at > clock_timestamp() - $1::double precision / 3 * interval '1 second'
     AND available_since <= clock_timestamp() - $1::double precision * interval '1 second'),
lost AS MATERIALIZED (
  SELECT id FROM sessions
   WHERE ended_at IS NULL AND expires_at < clock_timestamp() AND EXISTS (SELECT 1 FROM judge)
   ORDER BY id FOR UPDATE SKIP LOCKED)
UPDATE sessions s SET ended_at = clock_timestamp(), end_reason = 'its lease ran out'
  FROM lost WHERE s.id = lost.id
RETURNING s.id)sql";

constexpr char kList[] = R"sql(
SELECT s.id, s.key, s.worker_name, s.build, s.server_name, s.slot_classes::text, s.can_run::text, s.sweeps,
       (extract(epoch FROM s.start_time) * 1000000)::bigint, (extract(epoch FROM s.ended_at) * 1000000)::bigint,
       s.end_reason,
       (SELECT count(DISTINCT t.id)
          FROM grants g CROSS JOIN LATERAL unnest(g.trial_ids) x(id) JOIN trials t ON t.id = x.id
         WHERE g.session_id = s.id AND t.session_id = s.id AND t.state = 'running')
  FROM sessions s
 WHERE s.ended_at IS NULL OR s.ended_at > now() - $1::double precision * interval '1 second'
 ORDER BY s.id)sql";

absl::StatusOr<SessionRow> ToRow(const pqxx::row& row) {
  SessionRow session;
  session.id = row[0].as<int64_t>();
  session.key = row[1].c_str();
  session.worker_name = row[2].c_str();
  session.build = row[3].c_str();
  session.server_name = row[4].c_str();
  STEPCURVE_ASSIGN_OR_RETURN(session.slot_classes, SlotClassesFromJson(row[5].c_str()));
  STEPCURVE_ASSIGN_OR_RETURN(session.can_run, CapabilitiesFromJson(row[6].c_str()));
  if (!row[7].is_null()) {
    STEPCURVE_ASSIGN_OR_RETURN(session.sweeps, ParseInt64Array(row[7].c_str()));
  }
  session.start_time = absl::FromUnixMicros(row[8].as<int64_t>());
  if (!row[9].is_null()) {
    session.ended_at = absl::FromUnixMicros(row[9].as<int64_t>());
    session.end_reason = row[10].c_str();
  }
  session.running = row[11].as<int64_t>();
  return session;
}

}  // namespace

SessionStore::SessionStore(const Options& options) : options_(options) {}

absl::StatusOr<std::vector<int64_t>> SessionStore::Renew(const std::vector<int64_t>& sessions) {
  absl::flat_hash_set<int64_t> ended;
  STEPCURVE_RETURN_IF_ERROR(options_.database->Transaction([&](pqxx::work& work) {
    ended = {sessions.begin(), sessions.end()};
    for (const auto& row : work.exec_params(kRenew, ArrayText(sessions), absl::ToDoubleSeconds(options_.lease))) {
      ended.erase(row[0].as<int64_t>());
    }
    return absl::OkStatus();
  }));
  return std::vector<int64_t>(ended.begin(), ended.end());
}

absl::Status SessionStore::End(int64_t session, const std::string& reason) {
  return options_.database->Transaction([&](pqxx::work& work) {
    work.exec_params(kEnd, session, reason);
    return absl::OkStatus();
  });
}

absl::Status SessionStore::StampService() {
  return options_.database->Transaction([&](pqxx::work& work) {
    work.exec_params(kStamp, absl::ToDoubleSeconds(options_.lease));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<int64_t>> SessionStore::EndExpired() {
  std::vector<int64_t> ended;
  STEPCURVE_RETURN_IF_ERROR(options_.database->Transaction([&](pqxx::work& work) {
    ended.clear();
    for (const auto& row : work.exec_params(kEndExpired, absl::ToDoubleSeconds(options_.lease))) {
      ended.push_back(row[0].as<int64_t>());
    }
    return absl::OkStatus();
  }));
  return ended;
}

absl::StatusOr<std::vector<SessionRow>> SessionStore::List(absl::Duration ended_within) {
  std::vector<SessionRow> sessions;
  STEPCURVE_RETURN_IF_ERROR(options_.database->Read([&](pqxx::read_transaction& read) -> absl::Status {
    sessions.clear();
    for (const auto& row : read.exec_params(kList, absl::ToDoubleSeconds(ended_within))) {
      STEPCURVE_ASSIGN_OR_RETURN(sessions.emplace_back(), ToRow(row));
    }
    return absl::OkStatus();
  }));
  return sessions;
}

absl::StatusOr<std::vector<SessionRow>> SessionStore::Live() { return List(absl::ZeroDuration()); }

}  // namespace stepcurve
