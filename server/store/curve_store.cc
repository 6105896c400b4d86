// SPDX-License-Identifier: Apache-2.0
#include "server/store/curve_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_array.h"
#include "server/store/row_values.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

// A curve of 17 batch sizes takes some 0.3 MB.
constexpr size_t kCacheBytes = 64u << 20;

constexpr char kStudiesOfAddress[] = R"(
  SELECT s.id, s.sweep_id, w.name, w.state::text, w.semantics::text, w.parent_id IS NOT NULL, s.definition::text,
         s.space_hash, s.results_version, n.*
    FROM workloads k
    JOIN studies s ON s.workload_id = k.id
    JOIN sweeps w ON w.id = s.sweep_id
   CROSS JOIN LATERAL (
     SELECT sum(t.wanted), sum(t.queued), sum(t.running), sum(t.complete), sum(t.infeasible), sum(t.stopped),
            sum(t.failed), sum(t.cancelled)
       FROM strands t WHERE t.study_id = s.id) n
   WHERE k.address = $1 AND w.deleted_at IS NULL
   ORDER BY s.sweep_id DESC, s.batch_size)";

constexpr char kAddresses[] = R"(
  SELECT k.address FROM workloads k
   WHERE EXISTS (SELECT 1 FROM studies s JOIN sweeps w ON w.id = s.sweep_id
                  WHERE s.workload_id = k.id AND w.deleted_at IS NULL)
   ORDER BY k.address)";

constexpr char kReadEnvelopes[] = R"(
  SELECT e.study_id, e.layer, e.steps, e."values", e.trials, e.numbers
    FROM unnest($1::bigint[], $2::bigint[]) AS q(study, version)
    JOIN envelopes e ON e.study_id = q.study AND e.results_version = q.version
   WHERE e.selection = $3 AND e.metric = $4 AND e.rising = $5
   ORDER BY e.study_id, e.layer)";

// Whatever is older than the study's results answers nothing any more, under any selection.
constexpr char kDropEnvelopes[] = R"(
  DELETE FROM envelopes
   WHERE study_id = $1
     AND (results_version < $2
          OR (results_version = $2 AND selection = $3 AND metric = $4 AND rising = $5)))";

constexpr char kKeepLayer[] = R"(
  INSERT INTO envelopes (study_id, results_version, layer, rising, metric, selection, steps, "values", trials, numbers)
  VALUES ($1, $2, $3, $4, $5, $6, $7::bigint[], $8::double precision[], $9::bigint[], $10::bigint[])
  ON CONFLICT DO NOTHING)";

// One staircase of each admitted trial, NULL for a trial that has no records (yet), and whether a worker ever had it.
constexpr char kPool[] = R"(
  SELECT t.id, t.number, r.steps[r.offsets[$3] + 1 : r.offsets[$3 + 1]], r."values"[r.offsets[$3] + 1 : r.offsets[$3 + 1]],
         t.attempt > 0
    FROM trials t
    LEFT JOIN records r ON r.trial_id = t.id AND r.kind = 0
   WHERE t.study_id = $1 AND t.state = ANY ($2::trial_state[])
   ORDER BY t.number, t.repeat
   LIMIT $4)";

// The point of a trial at a step, among the chunks of the newest attempt that measured there, and the next one.
constexpr char kWinners[] = R"(
  SELECT t.parameters, coalesce(t.coordinates, '{}'), c.test_value, coalesce(c.next_value, n.next_value)
    FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::integer[])
         WITH ORDINALITY AS q(trial, step, metric, test, index)
    JOIN trials t ON t.id = q.trial
    LEFT JOIN LATERAL (
      SELECT k.attempt, k.last_step,
             CASE WHEN q.test >= 0 THEN k."values"[q.test * cardinality(k.steps) + array_position(k.steps, q.step)] END
               AS test_value,
             CASE WHEN q.step < k.last_step
                  THEN k."values"[q.metric * cardinality(k.steps) + array_position(k.steps, q.step) + 1] END AS next_value
        FROM chunks k
       WHERE k.trial_id = q.trial AND k.first_step <= q.step AND k.last_step >= q.step
       ORDER BY k.attempt DESC
       LIMIT 1) c ON true
    LEFT JOIN LATERAL (
      SELECT k."values"[q.metric * cardinality(k.steps) + 1] AS next_value
        FROM chunks k
       WHERE c.next_value IS NULL AND k.trial_id = q.trial AND k.attempt = c.attempt AND k.first_step > c.last_step
       ORDER BY k.first_step
       LIMIT 1) n ON true
   ORDER BY q.index)";

constexpr char kStaircases[] = R"(
  SELECT r.trial_id, r.steps[r.offsets[$2] + 1 : r.offsets[$2 + 1]], r."values"[r.offsets[$2] + 1 : r.offsets[$2 + 1]]
    FROM records r
   WHERE r.trial_id = ANY ($1::bigint[]) AND r.kind = 0)";

constexpr char kBests[] = R"(
  SELECT r.trial_id, r.offsets,
         ARRAY(SELECT coalesce(r.steps[r.offsets[i + 1]], -1)
                 FROM generate_series(1, cardinality(r.offsets) - 1) AS i ORDER BY i),
         ARRAY(SELECT coalesce(r."values"[r.offsets[i + 1]], 'NaN')
                 FROM generate_series(1, cardinality(r.offsets) - 1) AS i ORDER BY i)
    FROM records r
   WHERE r.trial_id = ANY ($1::bigint[]) AND r.kind = 0)";

// Index in SQL, from 1, of a metric's staircase in a records row.
int StaircaseIndex(int metric, bool rising) { return 2 * metric + (rising ? 2 : 1); }

std::optional<double> OptionalDouble(const pqxx::field& field) {
  double value = 0;
  if (field.is_null() || !absl::SimpleAtod(field.c_str(), &value)) return std::nullopt;
  return value;
}

absl::StatusOr<Staircase> ReadStaircase(const pqxx::field& steps, const pqxx::field& values) {
  Staircase stairs;
  STEPCURVE_ASSIGN_OR_RETURN(stairs.steps, ParseInt64Array(steps.c_str()));
  STEPCURVE_ASSIGN_OR_RETURN(stairs.values, ParseDoubleArray(values.c_str()));
  return stairs;
}

absl::StatusOr<CurveStudy> ReadStudy(const pqxx::row& row) {
  CurveStudy study;
  study.study = row[0].as<int64_t>();
  study.sweep = row[1].as<int64_t>();
  study.sweep_name = row[2].c_str();
  study.sweep_state = SweepStateAt(row[3]);
  study.semantics = SemanticsAt(row[4]);
  study.child = row[5].as<bool>();
  STEPCURVE_ASSIGN_OR_RETURN(study.definition, StudyDefinitionFromJson(row[6].c_str()));
  study.space_hash = row[7].c_str();
  study.results_version = row[8].as<int64_t>();
  study.wanted = row[9].as<int64_t>();
  study.counts = CountsAt(row, 10);
  if (study.sweep_state == SweepState::kCancelled) ShowOpenAsCancelled(study.counts);
  return study;
}

std::optional<int> MetricIndex(const StudyDefinition& study, const std::string& metric) {
  const auto found = std::find(study.metrics.begin(), study.metrics.end(), metric);
  if (found == study.metrics.end()) return std::nullopt;
  return static_cast<int>(found - study.metrics.begin());
}

}  // namespace

bool TrialSelection::Admits(TrialState state) const {
  return std::find(states.begin(), states.end(), state) != states.end();
}

std::string TrialSelection::Name() const {
  std::string name = absl::StrJoin(
      states, "+", [](std::string* out, TrialState state) { absl::StrAppend(out, stepcurve::Name(state)); });
  if (first > 0) absl::StrAppend(&name, "/", first);
  return name;
}

CurveStore::CurveStore(Database* database) : database_(database), trials_(database), cache_(kCacheBytes) {}

absl::StatusOr<std::vector<CurveStudy>> CurveStore::Studies(const std::string& address) {
  std::vector<CurveStudy> studies;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    studies.clear();
    for (const pqxx::row& row : tx.exec_params(kStudiesOfAddress, address)) {
      STEPCURVE_ASSIGN_OR_RETURN(CurveStudy study, ReadStudy(row));
      studies.push_back(std::move(study));
    }
    return absl::OkStatus();
  }));
  return studies;
}

absl::StatusOr<std::vector<std::string>> CurveStore::Addresses() {
  std::vector<std::string> addresses;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    addresses.clear();
    for (const pqxx::row& row : tx.exec_params(kAddresses)) addresses.emplace_back(row[0].c_str());
    return absl::OkStatus();
  }));
  return addresses;
}

absl::StatusOr<std::vector<std::shared_ptr<const Envelope>>> CurveStore::Envelopes(
    const std::vector<CurveStudy>& studies, const TrialSelection& selection, const std::string& metric, bool rising) {
  const std::string name = selection.Name();
  const bool keep = !selection.Admits(TrialState::kRunning) && !selection.Admits(TrialState::kQueued);
  const auto key = [&](const CurveStudy& study) {
    return absl::StrCat(study.study, "|", name, "|", metric, "|", rising);
  };

  std::vector<std::shared_ptr<const Envelope>> envelopes(studies.size());
  absl::flat_hash_map<int64_t, Envelope> kept;
  if (keep) {
    std::vector<const CurveStudy*> lacking;
    for (size_t i = 0; i < studies.size(); ++i) {
      envelopes[i] = cache_.Find(key(studies[i]), studies[i].results_version);
      if (envelopes[i] == nullptr) lacking.push_back(&studies[i]);
    }
    if (!lacking.empty()) {
      STEPCURVE_ASSIGN_OR_RETURN(kept, ReadKept(lacking, name, metric, rising));
    }
  }
  for (size_t i = 0; i < studies.size(); ++i) {
    if (envelopes[i] != nullptr) continue;
    const CurveStudy& study = studies[i];
    const std::optional<int> index = MetricIndex(study.definition, metric);
    Envelope envelope{.rising = rising};
    if (const auto found = kept.find(study.study); found != kept.end()) {
      envelope = std::move(found->second);
    } else if (index.has_value()) {
      STEPCURVE_ASSIGN_OR_RETURN(envelope, Build(study, selection, *index, rising));
      // Nothing is lost where it cannot be kept (a standby, say): it is built again when this process forgets it.
      const absl::Status status = keep ? Keep(study, name, metric, envelope) : absl::OkStatus();
      if (!status.ok()) {
        spdlog::debug("envelope of study {} not kept: {}", study.study, status.ToString());
      }
    }
    envelopes[i] = std::make_shared<const Envelope>(std::move(envelope));
    if (keep) cache_.Put(key(study), study.results_version, envelopes[i]);
  }
  return envelopes;
}

absl::StatusOr<absl::flat_hash_map<int64_t, Envelope>> CurveStore::ReadKept(
    const std::vector<const CurveStudy*>& studies, const std::string& selection, const std::string& metric,
    bool rising) {
  std::vector<int64_t> ids, versions;
  for (const CurveStudy* study : studies) {
    ids.push_back(study->study);
    versions.push_back(study->results_version);
  }
  absl::flat_hash_map<int64_t, Envelope> kept;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    kept.clear();
    for (const pqxx::row& row : tx.exec_params(kReadEnvelopes, ArrayText(absl::MakeConstSpan(ids)),
                                               ArrayText(absl::MakeConstSpan(versions)), selection, metric, rising)) {
      Envelope& envelope = kept[row[0].as<int64_t>()];
      envelope.rising = rising;
      EnvelopeLayer& layer = envelope.layers.emplace_back();
      STEPCURVE_ASSIGN_OR_RETURN(layer.steps, ParseInt64Array(row[2].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(layer.values, ParseDoubleArray(row[3].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(layer.trials, ParseInt64Array(row[4].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(layer.numbers, ParseInt64Array(row[5].c_str()));
    }
    return absl::OkStatus();
  }));
  return kept;
}

// The records read may be newer than the study's results_version, never older: its row was read before. So what is kept
// under that version is at worst built once more.
absl::StatusOr<Envelope> CurveStore::Build(const CurveStudy& study, const TrialSelection& selection, int metric,
                                           bool rising) {
  std::vector<std::string> states;
  for (const TrialState state : selection.states) states.emplace_back(Name(state));
  std::vector<PooledTrial> pool;
  std::vector<Staircase> stairs;
  std::vector<size_t> unrecorded;
  const int64_t limit = selection.first > 0 ? selection.first : std::numeric_limits<int64_t>::max();
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    pool.clear(), stairs.clear(), unrecorded.clear();
    for (const pqxx::row& row : tx.exec_params(kPool, study.study, ArrayText(absl::MakeConstSpan(states)),
                                               StaircaseIndex(metric, rising), limit)) {
      pool.push_back({.trial = row[0].as<int64_t>(), .number = row[1].as<int64_t>()});
      if (row[2].is_null()) {
        if (row[4].as<bool>()) unrecorded.push_back(stairs.size());
        stairs.emplace_back();
        continue;
      }
      STEPCURVE_ASSIGN_OR_RETURN(Staircase best, ReadStaircase(row[2], row[3]));
      stairs.push_back(std::move(best));
    }
    return absl::OkStatus();
  }));
  for (const size_t i : unrecorded) {
    STEPCURVE_ASSIGN_OR_RETURN(const TrialStaircases all,
                               Summarise(pool[i].trial, static_cast<int>(study.definition.metrics.size())));
    stairs[i] = rising ? all.rising(metric) : all.falling(metric);
  }
  for (size_t i = 0; i < pool.size(); ++i) pool[i].best = &stairs[i];
  return BuildEnvelope(pool, rising);
}

absl::Status CurveStore::Keep(const CurveStudy& study, const std::string& selection, const std::string& metric,
                              const Envelope& envelope) {
  // An empty pool keeps an empty first layer, which says that it was looked at.
  const EnvelopeLayer kNone;
  return database_->Transaction([&](pqxx::work& tx) {
    tx.exec_params(kDropEnvelopes, study.study, study.results_version, selection, metric, envelope.rising);
    for (size_t k = 0; k < std::max<size_t>(1, envelope.layers.size()); ++k) {
      const EnvelopeLayer& layer = envelope.layers.empty() ? kNone : envelope.layers[k];
      tx.exec_params(kKeepLayer, study.study, study.results_version, static_cast<int>(k + 1), envelope.rising, metric,
                     selection, ArrayText(absl::MakeConstSpan(layer.steps)),
                     ArrayText(absl::MakeConstSpan(layer.values)), ArrayText(absl::MakeConstSpan(layer.trials)),
                     ArrayText(absl::MakeConstSpan(layer.numbers)));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<Winner>> CurveStore::Winners(const std::vector<WinnerQuery>& queries) {
  std::vector<int64_t> trials, steps;
  std::vector<int32_t> metrics, tests;
  for (const WinnerQuery& query : queries) {
    trials.push_back(query.trial);
    steps.push_back(query.step);
    metrics.push_back(query.metric);
    tests.push_back(query.test_metric);
  }
  std::vector<Winner> winners;
  if (queries.empty()) return winners;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    winners.clear();
    for (const pqxx::row& row :
         tx.exec_params(kWinners, ArrayText(absl::MakeConstSpan(trials)), ArrayText(absl::MakeConstSpan(steps)),
                        ArrayText(absl::MakeConstSpan(metrics)), ArrayText(absl::MakeConstSpan(tests)))) {
      Winner winner;
      STEPCURVE_ASSIGN_OR_RETURN(winner.parameters, ParseDoubleArray(row[0].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(winner.coordinates, ParseDoubleArray(row[1].c_str()));
      winner.test_value = OptionalDouble(row[2]);
      winner.next_value = OptionalDouble(row[3]);
      winners.push_back(std::move(winner));
    }
    return absl::OkStatus();
  }));
  if (winners.size() != queries.size()) {
    return absl::AbortedError("a trial went away while the curve was read; ask again");
  }
  return winners;
}

absl::StatusOr<absl::flat_hash_map<int64_t, Staircase>> CurveStore::Staircases(const std::vector<int64_t>& trials,
                                                                               int metric, bool rising) {
  absl::flat_hash_map<int64_t, Staircase> found;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    found.clear();
    for (const pqxx::row& row :
         tx.exec_params(kStaircases, ArrayText(absl::MakeConstSpan(trials)), StaircaseIndex(metric, rising))) {
      STEPCURVE_ASSIGN_OR_RETURN(found[row[0].as<int64_t>()], ReadStaircase(row[1], row[2]));
    }
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<absl::flat_hash_map<int64_t, std::vector<std::optional<Best>>>> CurveStore::Bests(
    const std::vector<int64_t>& trials) {
  absl::flat_hash_map<int64_t, std::vector<std::optional<Best>>> found;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& tx) {
    found.clear();
    for (const pqxx::row& row : tx.exec_params(kBests, ArrayText(absl::MakeConstSpan(trials)))) {
      STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> offsets, ParseInt64Array(row[1].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, ParseInt64Array(row[2].c_str()));
      STEPCURVE_ASSIGN_OR_RETURN(const std::vector<double> values, ParseDoubleArray(row[3].c_str()));
      std::vector<std::optional<Best>>& bests = found[row[0].as<int64_t>()];
      for (size_t k = 0; k < steps.size(); ++k) {
        const bool empty = offsets[k] == offsets[k + 1];
        bests.push_back(empty ? std::nullopt : std::optional<Best>({steps[k], values[k]}));
      }
    }
    return absl::OkStatus();
  }));
  return found;
}

absl::StatusOr<TrialStaircases> CurveStore::Summarise(int64_t trial, int metrics) {
  constexpr int kChunksAtATime = 64;
  TrialStaircases stairs(metrics);
  int64_t attempt = 0;
  int64_t step = -1;
  while (true) {
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<ChunkRow> chunks,
                               trials_.Chunks(trial, attempt, step, kChunksAtATime));
    if (chunks.empty()) return stairs;
    for (const ChunkRow& chunk : chunks) {
      attempt = chunk.attempt;
      step = chunk.steps.back();
      if (chunk.superseded) continue;
      const size_t points = chunk.steps.size();
      for (int m = 0; m < metrics; ++m) {
        for (size_t p = 0; p < points; ++p) stairs.Add(chunk.steps[p], m, chunk.values[m * points + p]);
      }
    }
  }
}

}  // namespace stepcurve
