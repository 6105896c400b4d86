// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/row_values.h"
#include "server/store/sweep_rows.h"
#include "server/store/sweep_store.h"

namespace stepcurve {
namespace {

// FOR UPDATE waits for the transactions that add trials to the sweep, and those that come after see the new state.
constexpr char kLock[] = "SELECT state FROM sweeps WHERE id = $1 FOR UPDATE";

constexpr char kPause[] = "UPDATE sweeps SET state = 'paused', version = version + 1 WHERE id = $1";

// Level with those it shares workers with, or what it has missed would be made up for at their cost.
constexpr char kResume[] = R"sql(
  UPDATE sweeps w SET state = 'active', version = version + 1,
         pass = coalesce((SELECT min(o.pass) FROM sweeps o
                           WHERE o.state = 'active' AND o.priority = w.priority AND o.id <> w.id), w.pass)
   WHERE w.id = $1
)sql";

constexpr char kCancel[] = R"sql(
  UPDATE sweeps SET state = 'cancelled', end_time = now(), cancel_pending = true, version = version + 1 WHERE id = $1
)sql";

// Without a lock: most calls find nothing, and those that do look again.
constexpr char kFinished[] = R"sql(
  SELECT w.id FROM sweeps w
   WHERE w.state IN ('active', 'paused') AND ($1::bigint[] IS NULL OR w.id = ANY ($1::bigint[]))
     AND NOT EXISTS (SELECT FROM studies s JOIN strands d ON d.study_id = s.id
                      WHERE s.sweep_id = w.id AND (d.queued > 0 OR d.running > 0))
   ORDER BY w.id
)sql";

constexpr char kEnd[] = R"sql(
  UPDATE sweeps w SET state = 'done', end_time = now(), version = version + 1
   WHERE w.id = ANY ($1::bigint[]) AND w.state IN ('active', 'paused')
     AND NOT EXISTS (SELECT FROM studies s JOIN strands d ON d.study_id = s.id
                      WHERE s.sweep_id = w.id AND (d.queued > 0 OR d.running > 0))
  RETURNING w.id
)sql";

// Moves a sweep to `target` by `statement`. Nothing happens where it is there already.
absl::StatusOr<SweepRow> Move(Database& database, const std::string& name_or_id, SweepState target, const char* verb,
                              const char* statement) {
  SweepRow moved;
  STEPCURVE_RETURN_IF_ERROR(database.Transaction([&](pqxx::work& work) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(const int64_t id, FindSweepId(work, name_or_id));
    const SweepState state = SweepStateAt(work.exec_params1(kLock, id)[0]);
    if (state != target) {
      if (state == SweepState::kDone || state == SweepState::kCancelled) {
        return absl::FailedPreconditionError(
            absl::StrCat("sweep \"", name_or_id, "\" is ", Name(state), " and cannot be ", verb));
      }
      work.exec_params(statement, id);
    }
    STEPCURVE_ASSIGN_OR_RETURN(moved, ReadSweep(work, id));
    return absl::OkStatus();
  }));
  return moved;
}

// `sweeps`: an array's text, or null for all.
absl::StatusOr<std::vector<int64_t>> End(Database& database, const char* sweeps) {
  std::vector<int64_t> ended;
  STEPCURVE_RETURN_IF_ERROR(database.Transaction([&](pqxx::work& work) {
    ended.clear();
    std::vector<int64_t> finished;
    for (const pqxx::row& row : work.exec_params(kFinished, sweeps)) {
      finished.push_back(row[0].as<int64_t>());
    }
    if (finished.empty()) {
      return absl::OkStatus();
    }
    // The statement after the lock has a later snapshot: of two transactions that end the last two trials, it sees
    // both.
    work.exec_params("SELECT id FROM sweeps WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE", ArrayText(finished));
    for (const pqxx::row& row : work.exec_params(kEnd, ArrayText(finished))) {
      ended.push_back(row[0].as<int64_t>());
    }
    return absl::OkStatus();
  }));
  return ended;
}

}  // namespace

absl::StatusOr<SweepRow> SweepStore::Pause(const std::string& name_or_id) {
  return Move(*database_, name_or_id, SweepState::kPaused, "paused", kPause);
}

absl::StatusOr<SweepRow> SweepStore::Resume(const std::string& name_or_id) {
  return Move(*database_, name_or_id, SweepState::kActive, "resumed", kResume);
}

absl::StatusOr<SweepRow> SweepStore::Cancel(const std::string& name_or_id) {
  return Move(*database_, name_or_id, SweepState::kCancelled, "cancelled", kCancel);
}

absl::StatusOr<std::vector<int64_t>> SweepStore::EndFinished(const std::vector<int64_t>& sweeps) {
  return End(*database_, ArrayText(sweeps).c_str());
}

absl::StatusOr<std::vector<int64_t>> SweepStore::EndFinished() { return End(*database_, nullptr); }

}  // namespace stepcurve
