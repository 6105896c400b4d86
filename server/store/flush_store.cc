// SPDX-License-Identifier: Apache-2.0
#include "server/store/flush_store.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "proto/support/status_macros.h"
#include "server/store/flush_parents.h"
#include "server/store/flush_records.h"
#include "server/store/flush_staircases.h"
#include "server/store/flush_studies.h"
#include "server/store/flush_trials.h"
#include "server/store/pg_connection.h"
#include "server/store/pinned_plans.h"

namespace stepcurve {
namespace {

// A flush that finds its trials moved, or its points stored, by another transaction starts over; each time somebody
// else has got on.
constexpr int kAttempts = 20;

// Early failures in a row after which a session is given no more.
constexpr int32_t kDrainAfter = 5;

constexpr char kLockSessions[] =
    "SELECT id, early_failures FROM sessions WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE";
constexpr char kMoveSessions[] = R"sql(
UPDATE sessions s SET early_failures = u.failures, draining = s.draining OR u.failures >= $3
  FROM unnest($1, $2) u(id, failures) WHERE s.id = u.id)sql";

bool StoresPoints(const TrialMove& move, const AttemptEvents& events) { return move.first_new < events.steps.size(); }

}  // namespace

class FlushStore::Impl {
 public:
  explicit Impl(const Options& options) : options_(options) {}

  absl::Status Connect() {
    if (connection_ == nullptr || connection_->broken()) {
      connection_ = nullptr;
      STEPCURVE_ASSIGN_OR_RETURN(connection_, PgConnection::Open(options_.database));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Result> Flush(const std::vector<AttemptEvents>& batch) {
    absl::StatusOr<Result> result = absl::AbortedError("not tried");
    const auto again = [&] { return absl::IsAborted(result.status()) || absl::IsAlreadyExists(result.status()); };
    for (int attempt = 0; attempt < kAttempts && again(); ++attempt) {
      STEPCURVE_RETURN_IF_ERROR(Connect());
      result = FlushOnce(batch);
    }
    if (absl::IsAlreadyExists(result.status())) {
      return absl::FailedPreconditionError(result.status().message());
    }
    return result;
  }

 private:
  absl::StatusOr<Result> FlushOnce(const std::vector<AttemptEvents>& batch);
  absl::StatusOr<FlushDecision> Decide(const std::vector<AttemptEvents>& batch);
  absl::StatusOr<std::vector<RecordArrays>> MakeRecords(const std::vector<AttemptEvents>& batch,
                                                        const std::vector<TrialMove>& moves);
  absl::StatusOr<std::vector<int64_t>> CountEarlyFailures(const std::vector<AttemptEvents>& batch,
                                                          const std::vector<TrialMove>& moves);

  const Options options_;
  std::unique_ptr<PgConnection> connection_;
  FlushStudies studies_;
  FlushStaircases staircases_;
  // Sessions that failed before the first step and have not got past it since, as far as this flusher knows.
  absl::flat_hash_set<int64_t> failing_;
};

// Points go in before any lock is taken, so that flushes of the same strands run side by side. The write to trials
// tests that they still stand as they were read, and where one does not nothing of this has happened.
absl::StatusOr<FlushStore::Result> FlushStore::Impl::FlushOnce(const std::vector<AttemptEvents>& batch) {
  STEPCURVE_ASSIGN_OR_RETURN(PgTransaction transaction, PgTransaction::Begin(*connection_));
  STEPCURVE_RETURN_IF_ERROR(connection_->Run(kPinPlans));
  STEPCURVE_ASSIGN_OR_RETURN(FlushDecision decision, Decide(batch));
  const std::vector<TrialMove>& moves = decision.moves;
  Result result;
  result.standings = std::move(decision.standings);
  if (moves.empty()) {
    return result;
  }
  STEPCURVE_RETURN_IF_ERROR(CopyChunks(*connection_, batch, moves));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<RecordArrays> records, MakeRecords(batch, moves));

  STEPCURVE_ASSIGN_OR_RETURN(result.drained_sessions, CountEarlyFailures(batch, moves));
  FlushParents parents(connection_.get(), &studies_, moves);
  STEPCURVE_RETURN_IF_ERROR(parents.Lock());
  STEPCURVE_RETURN_IF_ERROR(MoveTrials(*connection_, batch, moves));
  if (std::any_of(moves.begin(), moves.end(), [](const TrialMove& move) { return move.ends_attempt(); })) {
    STEPCURVE_RETURN_IF_ERROR(EndAttempts(*connection_, batch, moves));
    STEPCURVE_RETURN_IF_ERROR(CopyRecords(*connection_, moves, records));
    STEPCURVE_ASSIGN_OR_RETURN(result.sweeps_to_check, parents.Move());
  }
  STEPCURVE_RETURN_IF_ERROR(transaction.Commit());

  for (const TrialMove& move : moves) {
    const AttemptEvents& events = batch[move.event];
    staircases_.Store(move, events, static_cast<int>(studies_.at(move.before.study).rules().metrics));
    if (move.early_failure) {
      failing_.insert(events.session);
    } else if (StoresPoints(move, events)) {
      failing_.erase(events.session);
    }
  }
  return result;
}

absl::StatusOr<FlushDecision> FlushStore::Impl::Decide(const std::vector<AttemptEvents>& batch) {
  STEPCURVE_ASSIGN_OR_RETURN(const TrialSnapshots trials, ReadTrials(*connection_, batch));
  std::set<int64_t> studies;
  for (const auto& [id, trial] : trials) {
    studies.insert(trial.study);
  }
  STEPCURVE_RETURN_IF_ERROR(studies_.Load(*connection_, {studies.begin(), studies.end()}));
  return DecideFlush(
      batch, trials, [this](int64_t study) { return studies_.at(study).rules(); }, options_.caps);
}

// Of the trials that end: from memory where it is complete, else from their chunks, this flush's among them.
absl::StatusOr<std::vector<RecordArrays>> FlushStore::Impl::MakeRecords(const std::vector<AttemptEvents>& batch,
                                                                        const std::vector<TrialMove>& moves) {
  std::vector<TrialStaircases> staircases;
  std::vector<int64_t> trials, attempts;  // To be read.
  absl::flat_hash_map<int64_t, size_t> place;
  for (const TrialMove& move : moves) {
    if (!move.ends_trial()) {
      continue;
    }
    const AttemptEvents& events = batch[move.event];
    const int metrics = static_cast<int>(studies_.at(move.before.study).rules().metrics);
    // An attempt that never started leaves what an earlier one stored.
    const bool from_scratch = move.base_step.has_value() ? move.before.persisted_step() < 0 : move.last_step < 0;
    const TrialStaircases* known = staircases_.Find(move.before);
    staircases.push_back(known != nullptr ? *known : TrialStaircases(metrics));
    if (known != nullptr || from_scratch) {
      AddPoints(events.steps, events.values, move.first_new, staircases.back());
    } else {
      trials.push_back(move.before.trial);
      attempts.push_back(move.base_step.has_value() ? move.before.attempt : 0);
      place[move.before.trial] = staircases.size() - 1;
    }
  }
  if (!trials.empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(const PgResult chunks,
                               connection_->Execute(kLiveChunks, PgParams().Int64s(trials).Int64s(attempts)));
    for (int row = 0; row < chunks.rows(); ++row) {
      AddPoints(chunks.Int64s(row, 1), chunks.Doubles(row, 2), 0, staircases[place.at(chunks.Int64(row, 0))]);
    }
  }
  std::vector<RecordArrays> records;
  records.reserve(staircases.size());
  for (const TrialStaircases& of_trial : staircases) {
    records.push_back(Flatten(of_trial));
  }
  return records;
}

// Returns the sessions that have failed too often in a row now.
absl::StatusOr<std::vector<int64_t>> FlushStore::Impl::CountEarlyFailures(const std::vector<AttemptEvents>& batch,
                                                                          const std::vector<TrialMove>& moves) {
  std::map<int64_t, int32_t> failures;  // By session; 0: it got past a first step.
  for (const TrialMove& move : moves) {
    const int64_t session = batch[move.event].session;
    if (move.early_failure) {
      ++failures[session];
    } else if (StoresPoints(move, batch[move.event]) && failing_.contains(session)) {
      failures.try_emplace(session, 0);
    }
  }
  std::vector<int64_t> drained;
  if (failures.empty()) {
    return drained;
  }
  std::vector<int64_t> ids;
  for (const auto& [session, count] : failures) {
    ids.push_back(session);
  }
  STEPCURVE_ASSIGN_OR_RETURN(const PgResult rows, connection_->Execute(kLockSessions, PgParams().Int64s(ids)));
  std::vector<int32_t> counts;
  ids.clear();
  for (int row = 0; row < rows.rows(); ++row) {
    const int64_t session = rows.Int64(row, 0);
    const int32_t more = failures.at(session);
    ids.push_back(session);
    counts.push_back(more == 0 ? 0 : rows.Int32(row, 1) + more);
    if (counts.back() >= kDrainAfter) {
      drained.push_back(session);
    }
  }
  STEPCURVE_RETURN_IF_ERROR(
      connection_->Execute(kMoveSessions, PgParams().Int64s(ids).Int32s(counts).Int32(kDrainAfter)).status());
  return drained;
}

FlushStore::FlushStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FlushStore::~FlushStore() = default;

absl::StatusOr<std::unique_ptr<FlushStore>> FlushStore::Open(const Options& options) {
  auto impl = std::make_unique<Impl>(options);
  STEPCURVE_RETURN_IF_ERROR(impl->Connect());
  return std::unique_ptr<FlushStore>(new FlushStore(std::move(impl)));
}

absl::StatusOr<FlushStore::Result> FlushStore::Flush(const std::vector<AttemptEvents>& batch) {
  return impl_->Flush(batch);
}

}  // namespace stepcurve
