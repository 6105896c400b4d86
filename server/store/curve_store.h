// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/analysis/envelope.h"
#include "server/analysis/staircase.h"
#include "server/core/state.h"
#include "server/core/study_definition.h"
#include "server/store/database.h"
#include "server/store/envelope_cache.h"
#include "server/store/trial_store.h"

namespace stepcurve {

// A study as a curve sees it, and the sweep it belongs to.
struct CurveStudy {
  int64_t study = 0;
  int64_t sweep = 0;
  std::string sweep_name;
  SweepState sweep_state = SweepState::kActive;
  Semantics semantics = Semantics::kPublished;  // Of the sweep.
  bool child = false;                           // Its sweep answers only by name.
  StudyDefinition definition;
  std::string space_hash;
  int64_t results_version = 0;
  int64_t wanted = 0;
  StateCounts counts;  // With a cancelled sweep's queued and running shown as cancelled.
};

// Which trials of a study a curve is taken over: those in one of `states`, the first `first` of them by number (0:
// all).
struct TrialSelection {
  std::vector<TrialState> states;
  int64_t first = 0;

  bool Admits(TrialState state) const;
  // Name under which its envelopes are kept: "complete", "complete+stopped/100".
  std::string Name() const;
};

// A trial at a step: what a curve tells of its winner.
struct Winner {
  std::vector<double> parameters;
  std::vector<double> coordinates;   // As drawn; empty where nothing is multiplied.
  std::optional<double> test_value;  // Absent where not measured.
  std::optional<double> next_value;  // Of the goal's metric at the next evaluation; absent when there was none.
};

// The best of one staircase: its last entry.
struct Best {
  int64_t step = 0;
  double value = 0;
};

// Answers about results: envelopes, records and the points around them. Every method is a few short transactions.
// Thread-safe.
class CurveStore final {
 public:
  explicit CurveStore(Database* database);  // Not owned; outlives the store.

  // Studies of the workload at this address, over all sweeps that are not deleted, by sweep (newest first) and batch
  // size. Empty when there is none.
  absl::StatusOr<std::vector<CurveStudy>> Studies(const std::string& address);

  // Addresses that have studies; for "nearest".
  absl::StatusOr<std::vector<std::string>> Addresses();

  // Envelopes of these studies over one metric and direction, in their order. Those kept under the studies'
  // results_version, here or in the database, are taken as they are; the others are built from records and kept, unless
  // the selection admits running trials: these are summarised from their chunks, which is true for the moment. A study
  // without the metric has an empty envelope.
  absl::StatusOr<std::vector<std::shared_ptr<const Envelope>>> Envelopes(const std::vector<CurveStudy>& studies,
                                                                         const TrialSelection& selection,
                                                                         const std::string& metric, bool rising);

  struct WinnerQuery {
    int64_t trial = 0;
    int64_t step = 0;
    int metric = 0;        // Index of the goal's metric in its study.
    int test_metric = -1;  // Index of the same metric on the test split; -1 none.
  };
  // In the order of the queries.
  absl::StatusOr<std::vector<Winner>> Winners(const std::vector<WinnerQuery>& queries);

  // One staircase each of trials that have records, by trial.
  absl::StatusOr<absl::flat_hash_map<int64_t, Staircase>> Staircases(const std::vector<int64_t>& trials, int metric,
                                                                     bool rising);
  // The last entries of all staircases of trials that have records: metric m falling at 2 m, rising at 2 m + 1.
  absl::StatusOr<absl::flat_hash_map<int64_t, std::vector<std::optional<Best>>>> Bests(
      const std::vector<int64_t>& trials);

  // All staircases of a trial from its counted measurements: for trials that have no records yet.
  absl::StatusOr<TrialStaircases> Summarise(int64_t trial, int metrics);

 private:
  // Of the studies that `cache_` lacks, those that the table has.
  absl::StatusOr<absl::flat_hash_map<int64_t, Envelope>> ReadKept(const std::vector<const CurveStudy*>& studies,
                                                                  const std::string& selection,
                                                                  const std::string& metric, bool rising);
  absl::StatusOr<Envelope> Build(const CurveStudy& study, const TrialSelection& selection, int metric, bool rising);
  absl::Status Keep(const CurveStudy& study, const std::string& selection, const std::string& metric,
                    const Envelope& envelope);

  Database* database_;
  TrialStore trials_;
  EnvelopeCache cache_;
};

}  // namespace stepcurve
