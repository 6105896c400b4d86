// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/pinned_plans.h"
#include "server/store/session_json.h"
#include "server/store/session_release.h"
#include "server/store/session_store.h"
#include "server/store/sweep_rows.h"

namespace stepcurve {
namespace {

// FOR UPDATE: claims under way are waited for, so that what they granted is seen below; later ones see the new stream.
constexpr char kLock[] = R"sql(
SELECT id, key = $1, ended_at IS NOT NULL, coalesce(end_reason, '')
  FROM sessions WHERE key IN ($1, $2) ORDER BY id FOR UPDATE)sql";

constexpr char kInsert[] = R"sql(
INSERT INTO sessions (key, expires_at, worker_name, build, server_name, slot_classes, can_run)
VALUES ($1, now(), '', '', '', '[]', '{}')
    ON CONFLICT (key) DO NOTHING
RETURNING id)sql";

constexpr char kRegister[] = R"sql(
UPDATE sessions
   SET stream = stream + 1, expires_at = clock_timestamp() + $2::double precision * interval '1 second',
       worker_name = $3, build = $4, server_name = $5, slot_classes = $6::jsonb, can_run = $7::jsonb,
       sweeps = nullif($8::bigint[], '{}'), versions = $9::text[]
 WHERE id = $1
RETURNING stream)sql";

constexpr char kHeldByRecord[] = R"sql(
SELECT DISTINCT t.id, t.attempt
  FROM grants g
 CROSS JOIN LATERAL unnest(g.trial_ids) x(id)
  JOIN trials t ON t.id = x.id
 WHERE g.session_id = $1 AND t.session_id = $1 AND t.state = 'running'
 ORDER BY t.id)sql";

// The slot class stays: an heir on the same node has the same ones.
constexpr char kTakeOver[] = R"sql(
WITH listed AS MATERIALIZED (
  SELECT t.id FROM unnest($3::bigint[], $4::bigint[]) u(id, attempt) JOIN trials t ON t.id = u.id
   WHERE t.attempt = u.attempt AND t.session_id = $2 AND t.state = 'running'
   ORDER BY t.id FOR NO KEY UPDATE OF t)
UPDATE trials t SET session_id = $1, worker_name = $5 FROM listed WHERE t.id = listed.id)sql";

constexpr char kReplace[] = R"sql(
UPDATE sessions SET ended_at = clock_timestamp(), end_reason = 'replaced by ' || $2
 WHERE id = $1 AND ended_at IS NULL)sql";

constexpr char kStand[] = R"sql(
SELECT t.id, t.attempt, t.state::text, coalesce(t.end_reason::text, ''), coalesce(t.session_id = $2, false),
       CASE WHEN t.base_step IS NULL THEN -1 ELSE t.last_step END
  FROM unnest($1::bigint[]) u(id)
  JOIN trials t ON t.id = u.id)sql";

constexpr char kDropGrants[] = "DELETE FROM grants WHERE session_id = $1";
constexpr char kKeepGrants[] = "INSERT INTO grants (session_id, trial_ids) VALUES ($1, $2::bigint[])";

TrialState ParseTrialState(absl::string_view name) {
  const auto* found = std::find(kTrialStateNames.begin(), kTrialStateNames.end(), name);
  return static_cast<TrialState>(found - kTrialStateNames.begin());
}

absl::Status CheckKey(const std::string& key) {
  const auto hex = [](char c) { return absl::ascii_isdigit(c) || (c >= 'a' && c <= 'f'); };
  if (key.size() != 32 || !std::all_of(key.begin(), key.end(), hex)) {
    return absl::InvalidArgumentError(
        absl::StrCat("session is \"", key.substr(0, 64), "\"; it must be 32 lower-case hexadecimal digits"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> SweepIds(pqxx::work& work, const std::vector<std::string>& names) {
  std::vector<int64_t> ids;
  for (const std::string& name : names) {
    STEPCURVE_ASSIGN_OR_RETURN(ids.emplace_back(), FindSweepId(work, name));
  }
  return ids;
}

struct Registration {
  int64_t session = 0;
  int64_t stream = 0;
  int64_t replaced = 0;  // 0: none.
  bool fresh = false;
};

// Locks the session and the one it replaces, making the former if need be.
absl::StatusOr<Registration> Register(pqxx::work& work, const HelloRequest& hello, absl::Duration lease) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> sweeps, SweepIds(work, hello.sweeps));
  Registration registration;
  for (const auto& row : work.exec_params(kLock, hello.key, hello.replaces)) {
    if (!row[1].as<bool>()) {
      registration.replaced = row[0].as<int64_t>();
    } else if (row[2].as<bool>()) {
      return absl::FailedPreconditionError(
          absl::StrCat("session ", hello.key, " has ended (", row[3].c_str(), "); register under a new id"));
    } else {
      registration.session = row[0].as<int64_t>();
    }
  }
  if (registration.session == 0) {
    const pqxx::result inserted = work.exec_params(kInsert, hello.key);
    if (inserted.empty()) {
      return absl::AbortedError("the same session registers at this moment");  // Repeated: it is there by then.
    }
    registration.session = inserted[0][0].as<int64_t>();
    registration.fresh = true;
  }
  registration.stream =
      work.exec_params(kRegister, registration.session, absl::ToDoubleSeconds(lease), hello.worker_name, hello.build,
                       hello.server_name, SlotClassesToJson(hello.slot_classes), CapabilitiesToJson(hello.can_run),
                       ArrayText(sweeps), ArrayText(hello.versions))[0][0]
          .as<int64_t>();
  return registration;
}

// What the session runs by our record and does not list was lost on the way to it.
absl::Status Reclaim(pqxx::work& work, const HelloRequest& hello, int64_t session) {
  std::set<std::pair<int64_t, int64_t>> listed;
  for (const HeldAttempt& held : hello.held) {
    listed.emplace(held.trial, held.attempt);
  }
  GivenUp given_up{.sessions = {session}, .outcome = "released"};
  for (const auto& row : work.exec_params(kHeldByRecord, session)) {
    if (listed.count({row[0].as<int64_t>(), row[1].as<int64_t>()}) == 0) {
      given_up.trials.push_back(row[0].as<int64_t>());
    }
  }
  return given_up.trials.empty() ? absl::OkStatus() : GiveUp(work, given_up).status();
}

void TakeOver(pqxx::work& work, const HelloRequest& hello, const Registration& registration) {
  std::vector<int64_t> trials, attempts;
  for (const HeldAttempt& held : hello.held) {
    trials.push_back(held.trial);
    attempts.push_back(held.attempt);
  }
  work.exec_params(kTakeOver, registration.session, registration.replaced, ArrayText(trials), ArrayText(attempts),
                   hello.worker_name);
  work.exec_params(kReplace, registration.replaced, hello.worker_name);
}

std::vector<Standing> Judge(pqxx::work& work, const std::vector<HeldAttempt>& held, int64_t session) {
  std::vector<int64_t> ids;
  for (const HeldAttempt& attempt : held) {
    ids.push_back(attempt.trial);
  }
  std::sort(ids.begin(), ids.end());
  absl::flat_hash_map<int64_t, pqxx::row> rows;
  for (const auto& row : work.exec_params(kStand, ArrayText(ids), session)) {
    rows.insert_or_assign(row[0].as<int64_t>(), row);
  }
  std::vector<Standing> standings;
  for (const HeldAttempt& attempt : held) {
    Standing standing{.trial = attempt.trial, .attempt = attempt.attempt, .reason = "no longer this session's"};
    if (const auto found = rows.find(attempt.trial); found != rows.end()) {
      const pqxx::row& row = found->second;
      standing.state = ParseTrialState(row[2].c_str());
      const bool current = row[1].as<int64_t>() == attempt.attempt;
      if (current && IsTerminal(standing.state)) {
        standing.verdict = Verdict::kEnded;
        standing.reason = row[3].c_str();
      } else if (current && row[4].as<bool>()) {
        standing.verdict = Verdict::kHeld;
        standing.reason = "";
      }
      standing.persisted_step = standing.verdict == Verdict::kLost ? -1 : row[5].as<int64_t>();
    }
    standings.push_back(std::move(standing));
  }
  return standings;
}

}  // namespace

absl::StatusOr<HelloResult> SessionStore::Hello(const HelloRequest& hello) {
  STEPCURVE_RETURN_IF_ERROR(CheckKey(hello.key));
  HelloResult result;
  STEPCURVE_RETURN_IF_ERROR(options_.database->Transaction([&](pqxx::work& work) -> absl::Status {
    work.exec(kPinPlans);
    STEPCURVE_ASSIGN_OR_RETURN(const Registration registration, Register(work, hello, options_.lease));
    if (!registration.fresh) {
      STEPCURVE_RETURN_IF_ERROR(Reclaim(work, hello, registration.session));
    }
    if (registration.replaced != 0) {
      TakeOver(work, hello, registration);
    }
    result = {.session = registration.session, .stream = registration.stream};
    result.standings = Judge(work, hello.held, registration.session);
    std::vector<int64_t> held;
    for (const Standing& standing : result.standings) {
      if (standing.verdict == Verdict::kHeld) {
        held.push_back(standing.trial);
      }
    }
    std::sort(held.begin(), held.end());
    if (!registration.fresh) {
      work.exec_params(kDropGrants, registration.session);
    }
    if (!held.empty()) {
      work.exec_params(kKeepGrants, registration.session, ArrayText(held));
    }
    return absl::OkStatus();
  }));
  return result;
}

}  // namespace stepcurve
