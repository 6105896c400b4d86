// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/core/state.h"
#include "server/store/database.h"

namespace stepcurve {

struct TrialRow {
  int64_t id = 0;
  int64_t study = 0;
  int64_t number = 0;
  int32_t repeat = 0;
  uint64_t training_seed = 0;
  TrialState state = TrialState::kQueued;
  std::optional<EndReason> end_reason;
  int64_t attempt = 0;
  int64_t last_step = -1;
  std::optional<int64_t> diverged_step;
  int32_t crashes = 0;
  int32_t losses = 0;
  std::vector<double> parameters;
  std::vector<double> coordinates;  // Empty where nothing is multiplied.
  std::string worker;
  std::string error;
  std::optional<absl::Time> grant_time;
  std::optional<absl::Time> end_time;
  double train_seconds = 0;
  double eval_seconds = 0;
};

struct AttemptRow {
  int64_t attempt = 0;
  std::string worker;
  std::string build;
  std::string device;
  int32_t threads = 0;
  std::optional<int64_t> base_step;
  int64_t last_step = -1;
  std::string outcome;  // As past_attempts tells it, or "running".
  std::string error;
  std::string log_tail;
  absl::Time start_time;
  std::optional<absl::Time> end_time;  // Absent while it runs.
};

// Measurements of one attempt: metric m of point p at values[m * steps.size() + p].
struct ChunkRow {
  int64_t trial = 0;
  int64_t attempt = 0;
  bool superseded = false;  // Chunks are cut where a later attempt branched, so this holds for all of it.
  std::vector<int64_t> steps;
  std::vector<double> values;
};

// Reads trials. Every method is one short transaction. Thread-safe.
class TrialStore final {
 public:
  explicit TrialStore(Database* database);  // Not owned; outlives the store.

  struct Filter {
    std::vector<int64_t> studies;        // In this order; the page runs through them.
    std::vector<TrialState> states;      // Empty: all.
    // Resume after this place; study 0: from the start.
    int64_t after_study = 0;
    int64_t after_number = 0;
    int32_t after_repeat = 0;
    int64_t limit = 100;
  };
  // By study (in the order given), number and repeat. Seeks; never counts or skips.
  absl::StatusOr<std::vector<TrialRow>> List(const Filter& filter);

  absl::StatusOr<TrialRow> Get(int64_t trial);                       // NOT_FOUND names it.
  absl::StatusOr<TrialRow> Find(int64_t study, int64_t number, int32_t repeat);
  absl::StatusOr<std::vector<AttemptRow>> Attempts(int64_t trial);  // Oldest first, the one that runs among them.

  // Next chunks of a trial after (attempt, step), in order of attempt and step, at most `limit` of them as stored; one that a later
  // attempt has cut comes in two, in one answer. (0, -1) starts; the last chunk's attempt and last step go on.
  absl::StatusOr<std::vector<ChunkRow>> Chunks(int64_t trial, int64_t after_attempt, int64_t after_step, int limit);

 private:
  Database* database_;
};

}  // namespace stepcurve
