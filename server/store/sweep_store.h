// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/core/state.h"
#include "server/core/sweep_plan.h"
#include "server/store/database.h"

namespace stepcurve {

struct SweepRow {
  int64_t id = 0;
  std::string name;
  std::string description;
  std::vector<std::string> tags;
  SweepState state = SweepState::kActive;
  int32_t priority = 0;
  std::optional<int64_t> max_running;
  int64_t version = 0;
  Semantics semantics = Semantics::kPublished;
  std::string creator;
  std::string request_id;
  std::string spec_digest;
  std::vector<std::string> goals;
  absl::Time create_time;
  std::optional<absl::Time> end_time;
  StateCounts counts;  // With a cancelled sweep's queued and running shown as cancelled.
  int64_t studies = 0;
  int64_t wanted = 0;
};

struct StudyRow {
  int64_t id = 0;
  int64_t sweep = 0;
  int64_t workload_id = 0;
  std::string address;  // Of the workload.
  StudyDefinition definition;
  std::string space_hash;
  int64_t results_version = 0;
  int64_t wanted = 0;
  int64_t max_trials = 0;
  StateCounts counts;
};

struct WorkloadRow {
  int64_t id = 0;
  std::string address;
  Workload workload;
  std::vector<int64_t> batch_sizes;
  std::vector<std::string> sweeps;   // Names, newest first, of sweeps that answer for it.
  std::vector<std::string> metrics;
};

// What to store of a sweep beside its plan.
struct SweepSource {
  std::string request_id;
  std::string creator;
  std::string digest;      // Of the canonical text of the spec.
  std::string spec;        // SweepSpec message, serialized.
  std::string spec_json;
};

// Durable home of sweeps and studies. Every method is one transaction. Thread-safe.
class SweepStore final {
 public:
  explicit SweepStore(Database* database);  // Not owned; outlives the store.

  struct Created {
    SweepRow sweep;
    bool created = true;
  };
  // Writes a sweep and its first trials, by binary COPY, in one transaction. Idempotent as CreateSweep in the contract says:
  // ALREADY_EXISTS when request_id or name is taken with another digest. A concurrent twin waits for this one and finds it.
  absl::StatusOr<Created> Create(const SweepPlan& plan, const SweepSource& source);

  // By name, or by decimal id. NOT_FOUND names it.
  absl::StatusOr<SweepRow> Find(const std::string& name_or_id);
  absl::StatusOr<std::string> Spec(int64_t sweep);      // The serialized SweepSpec.
  absl::StatusOr<std::string> Resolved(int64_t sweep);

  struct Filter {
    std::string tag;
    std::optional<SweepState> state;
    std::optional<int64_t> before;  // Ids below.
    int64_t limit = 100;
  };
  absl::StatusOr<std::vector<SweepRow>> List(const Filter& filter);  // Newest first.

  absl::StatusOr<std::vector<StudyRow>> Studies(int64_t sweep);      // By workload, batch size.
  absl::StatusOr<StudyRow> Study(int64_t study);
  absl::StatusOr<std::vector<WorkloadRow>> Workloads();

  // Moves as the contract's PauseSweep, ResumeSweep, CancelSweep. A resumed sweep starts at the least pass of the active ones.
  absl::StatusOr<SweepRow> Pause(const std::string& name_or_id);
  absl::StatusOr<SweepRow> Resume(const std::string& name_or_id);
  // Ends the sweep at once; its rows are turned by CancelSlice.
  absl::StatusOr<SweepRow> Cancel(const std::string& name_or_id);

  // Turns up to 10,000 trials of cancelled sweeps to CANCELLED, releasing those that run; true while more remain. Any server may
  // call it, at any time.
  absl::StatusOr<bool> CancelSlice();

  // Sets DONE every active or paused sweep that has nothing queued or running: locks the sweep first, then looks with a fresh
  // snapshot, so that of two flushes that end the last two trials the later look sees both. Returns the sweeps ended.
  absl::StatusOr<std::vector<int64_t>> EndFinished(const std::vector<int64_t>& sweeps);
  // The same for all open sweeps; for the janitor.
  absl::StatusOr<std::vector<int64_t>> EndFinished();

  // States of these sweeps: for servers that hold sessions working for them.
  absl::StatusOr<std::vector<std::pair<int64_t, SweepState>>> States(const std::vector<int64_t>& sweeps);

 private:
  Database* database_;
};

}  // namespace stepcurve
