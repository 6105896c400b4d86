// SPDX-License-Identifier: Apache-2.0
#include "server/store/trial_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/row_values.h"

namespace stepcurve {
namespace {

// A cancelled sweep's rows are turned in slices; people are told at once. $1: whether it is cancelled.
constexpr char kColumns[] = R"sql(
  SELECT t.id, t.study_id, t.number, t.repeat, t.training_seed, v.state, v.end_reason, t.attempt, t.last_step, t.crashes,
         t.losses, t.parameters, t.coordinates, t.worker_name, t.error,
         (extract(epoch FROM t.grant_time) * 1000000)::bigint, (extract(epoch FROM t.end_time) * 1000000)::bigint,
         t.train_seconds, t.eval_seconds, t.end_step
    FROM trials t CROSS JOIN LATERAL (
         SELECT $1::boolean AND t.state IN ('queued', 'running') AS open) o CROSS JOIN LATERAL (
         SELECT CASE WHEN o.open THEN 'cancelled' ELSE t.state END AS state,
                CASE WHEN o.open THEN 'cancelled' ELSE t.end_reason END AS end_reason) v
)sql";

// One page of a study.
constexpr char kPage[] = R"sql(
   WHERE t.study_id = $2 AND (t.number, t.repeat) > ($3::bigint, $4::integer)
     AND ($5::text[] IS NULL OR v.state::text = ANY ($5::text[]))
   ORDER BY t.number, t.repeat LIMIT $6
)sql";

// The one that runs comes last; it stands in its trial.
constexpr char kAttempts[] = R"sql(
  SELECT a.attempt, coalesce(s.worker_name, ''), coalesce(s.build, ''), s.slot_classes -> a.slot_class ->> 'device',
         s.slot_classes -> a.slot_class ->> 'threads', a.base_step, a.last_step, a.outcome, a.error, a.log_tail,
         (extract(epoch FROM a.start_time) * 1000000)::bigint, (extract(epoch FROM a.end_time) * 1000000)::bigint
    FROM (SELECT attempt, session_id, slot_class, base_step, last_step, outcome, error, log_tail, start_time, end_time
            FROM past_attempts WHERE trial_id = $1
           UNION ALL
          SELECT attempt, session_id, slot_class, base_step, CASE WHEN base_step IS NULL THEN -1 ELSE last_step END,
                 'running', NULL, NULL, grant_time, NULL
            FROM trials WHERE id = $1 AND state = 'running') a
    LEFT JOIN sessions s ON s.id = a.session_id ORDER BY a.attempt
)sql";

// Where each attempt that has started branched off: its points count from there on, those of earlier ones up to there.
constexpr char kBases[] = R"sql(
  SELECT attempt, base_step FROM past_attempts WHERE trial_id = $1 AND base_step IS NOT NULL
   UNION SELECT attempt, base_step FROM trials WHERE id = $1 AND base_step IS NOT NULL
)sql";

constexpr char kChunks[] = R"sql(
  SELECT attempt, steps, "values" FROM chunks
   WHERE trial_id = $1 AND (attempt, first_step) > ($2::bigint, $3::bigint) ORDER BY attempt, first_step LIMIT $4
)sql";

TrialRow TrialAt(const pqxx::row& row) {
  TrialRow trial;
  trial.id = row[0].as<int64_t>();
  trial.study = row[1].as<int64_t>();
  trial.number = row[2].as<int64_t>();
  trial.repeat = row[3].as<int32_t>();
  trial.training_seed = static_cast<uint64_t>(row[4].as<int64_t>());
  trial.state = TrialStateAt(row[5]);
  trial.end_reason = EndReasonAt(row[6]);
  trial.attempt = row[7].as<int64_t>();
  trial.last_step = row[8].as<int64_t>();
  trial.crashes = row[9].as<int32_t>();
  trial.losses = row[10].as<int32_t>();
  trial.parameters = DoublesAt(row[11]);
  trial.coordinates = DoublesAt(row[12]);
  trial.worker = TextAt(row[13]);
  trial.error = TextAt(row[14]);
  trial.grant_time = OptionalTimeAt(row[15]);
  trial.end_time = OptionalTimeAt(row[16]);
  trial.train_seconds = row[17].as<double>();
  trial.eval_seconds = row[18].as<double>();
  trial.diverged_step = OptionalInt64At(row[19]);
  return trial;
}

// Whether the study's sweep is cancelled; false for a study that does not exist.
bool Cancelled(pqxx::transaction_base& work, int64_t study) {
  const pqxx::result rows = work.exec_params(
      "SELECT w.state = 'cancelled' FROM studies s JOIN sweeps w ON w.id = s.sweep_id WHERE s.id = $1", study);
  return !rows.empty() && rows[0][0].as<bool>();
}

// Splits a chunk of `attempt` where its points stop or start to count.
void AppendPieces(ChunkRow chunk, int64_t base, int64_t branch, std::vector<ChunkRow>& out) {
  const size_t points = chunk.steps.size();
  const auto counts = [&](size_t p) { return chunk.steps[p] > base && chunk.steps[p] <= branch; };
  for (size_t from = 0, to = 0; from < points; from = to) {
    while (to < points && counts(to) == counts(from)) {
      ++to;
    }
    ChunkRow& piece = out.emplace_back();
    piece.trial = chunk.trial;
    piece.attempt = chunk.attempt;
    piece.superseded = !counts(from);
    piece.steps.assign(chunk.steps.begin() + from, chunk.steps.begin() + to);
    for (size_t metric = 0; metric < chunk.values.size() / points; ++metric) {
      const auto row = chunk.values.begin() + metric * points;
      piece.values.insert(piece.values.end(), row + from, row + to);
    }
  }
}

}  // namespace

TrialStore::TrialStore(Database* database) : database_(database) {}

absl::StatusOr<std::vector<TrialRow>> TrialStore::List(const Filter& filter) {
  std::vector<std::string> labels;
  for (const TrialState state : filter.states) {
    labels.emplace_back(Name(state));
  }
  const std::string states = ArrayText(labels);
  auto study = filter.studies.begin();
  if (filter.after_study != 0) {
    study = std::find(filter.studies.begin(), filter.studies.end(), filter.after_study);
  }
  std::vector<TrialRow> trials;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) {
    trials.clear();
    int64_t number = filter.after_number;
    int32_t repeat = filter.after_repeat;
    for (auto at = study; at != filter.studies.end(); ++at) {
      const int64_t room = filter.limit - static_cast<int64_t>(trials.size());
      if (room <= 0) {
        break;
      }
      for (const pqxx::row& row : work.exec_params(absl::StrCat(kColumns, kPage), Cancelled(work, *at), *at, number,
                                                   repeat, filter.states.empty() ? nullptr : states.c_str(), room)) {
        trials.push_back(TrialAt(row));
      }
      number = 0;  // The place to resume after is in the first study alone.
      repeat = 0;
    }
    return absl::OkStatus();
  }));
  return trials;
}

absl::StatusOr<TrialRow> TrialStore::Get(int64_t trial) {
  TrialRow found;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    const pqxx::result study = work.exec_params("SELECT study_id FROM trials WHERE id = $1", trial);
    if (study.empty()) {
      return absl::NotFoundError(absl::StrCat("no trial has id ", trial));
    }
    const bool cancelled = Cancelled(work, study[0][0].as<int64_t>());
    found = TrialAt(work.exec_params1(absl::StrCat(kColumns, "WHERE t.id = $2"), cancelled, trial));
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<TrialRow> TrialStore::Find(int64_t study, int64_t number, int32_t repeat) {
  TrialRow found;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) -> absl::Status {
    const pqxx::result rows =
        work.exec_params(absl::StrCat(kColumns, "WHERE t.study_id = $2 AND t.number = $3 AND t.repeat = $4"),
                         Cancelled(work, study), study, number, repeat);
    if (rows.empty()) {
      return absl::NotFoundError(absl::StrCat("study ", study, " has no trial number ", number,
                                              repeat == 0 ? "" : absl::StrCat(", repeat ", repeat)));
    }
    found = TrialAt(rows[0]);
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<std::vector<AttemptRow>> TrialStore::Attempts(int64_t trial) {
  std::vector<AttemptRow> attempts;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) {
    attempts.clear();
    for (const pqxx::row& row : work.exec_params(kAttempts, trial)) {
      attempts.push_back({.attempt = row[0].as<int64_t>(),
                          .worker = row[1].c_str(),
                          .build = row[2].c_str(),
                          .device = TextAt(row[3]),
                          .threads = row[4].is_null() ? 0 : row[4].as<int32_t>(),
                          .base_step = OptionalInt64At(row[5]),
                          .last_step = row[6].as<int64_t>(),
                          .outcome = row[7].c_str(),
                          .error = TextAt(row[8]),
                          .log_tail = BytesAt(row[9]),
                          .start_time = TimeAt(row[10]),
                          .end_time = OptionalTimeAt(row[11])});
    }
    return absl::OkStatus();
  }));
  return attempts;
}

absl::StatusOr<std::vector<ChunkRow>> TrialStore::Chunks(int64_t trial, int64_t after_attempt, int64_t after_step,
                                                         int limit) {
  std::vector<ChunkRow> chunks;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& work) {
    chunks.clear();
    std::vector<std::pair<int64_t, int64_t>> bases;
    for (const pqxx::row& row : work.exec_params(kBases, trial)) {
      bases.emplace_back(row[0].as<int64_t>(), row[1].as<int64_t>());
    }
    for (const pqxx::row& row : work.exec_params(kChunks, trial, after_attempt, after_step, limit)) {
      ChunkRow chunk{
          .trial = trial, .attempt = row[0].as<int64_t>(), .steps = Int64sAt(row[1]), .values = DoublesAt(row[2])};
      int64_t base = -1;
      int64_t branch = std::numeric_limits<int64_t>::max();
      for (const auto& [attempt, step] : bases) {
        if (attempt == chunk.attempt) {
          base = step;
        } else if (attempt > chunk.attempt) {
          branch = std::min(branch, step);
        }
      }
      AppendPieces(std::move(chunk), base, branch, chunks);
    }
    return absl::OkStatus();
  }));
  return chunks;
}

}  // namespace stepcurve
