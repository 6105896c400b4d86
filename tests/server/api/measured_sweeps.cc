// SPDX-License-Identifier: Apache-2.0
#include "tests/server/api/measured_sweeps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "server/analysis/staircase.h"
#include "server/store/pg_array.h"

namespace stepcurve {
namespace {

std::string Quoted(absl::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += '\'';
    quoted += c;
  }
  return quoted + "'";
}

template <typename T>
std::string Array(const std::vector<T>& values) {
  return Quoted(ArrayText(absl::MakeConstSpan(values)));
}

const char* ReasonOf(TrialState state) {
  switch (state) {
    case TrialState::kComplete:
      return "'budget'";
    case TrialState::kInfeasible:
      return "'diverged'";
    case TrialState::kStopped:
      return "'exact_stop'";
    case TrialState::kFailed:
      return "'error'";
    case TrialState::kCancelled:
      return "'cancelled'";
    default:
      return "NULL";
  }
}

}  // namespace

StudyDefinition QuadraticStudy(int64_t batch_size) {
  StudyDefinition study;
  study.workload = {.dataset = "quadratic", .model = "noisy_quadratic_100", .optimizer = "sgd"};
  study.batch_size = batch_size;
  study.budget_steps = 1000;
  study.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 10};
  study.metrics = {"val/loss", "test/loss"};
  study.space = {{.name = "learning_rate", .kind = RangeEntry{.min = 0.01, .max = 1, .scale = Scale::kLog}}};
  return study;
}

MeasuredTrial Losses(std::vector<int64_t> steps, std::vector<double> losses, TrialState state) {
  std::vector<double> test;
  for (const double loss : losses) test.push_back(loss + 1);
  return {.state = state, .steps = std::move(steps), .values = {std::move(losses), std::move(test)}};
}

int64_t MeasuredSweeps::One(const std::string& statement) {
  int64_t value = 0;
  const absl::Status status = database_->Transaction([&](pqxx::work& tx) {
    const pqxx::result rows = tx.exec(statement);
    value = rows.empty() ? 0 : rows[0][0].as<int64_t>();
    return absl::OkStatus();
  });
  if (!status.ok()) {
    ADD_FAILURE() << status << "\n" << statement;
    std::abort();
  }
  return value;
}

int64_t MeasuredSweeps::Sweep(const MeasuredSweep& sweep) {
  const bool ended = sweep.state == SweepState::kDone || sweep.state == SweepState::kCancelled;
  return One(absl::StrCat(
      "INSERT INTO sweeps (name, state, semantics, parent_id, request_id, spec_digest, spec, spec_json, resolved, "
      "end_time) VALUES (",
      Quoted(sweep.name), ", ", Quoted(Name(sweep.state)), ", ",
      sweep.semantics == Semantics::kReached ? "'reached'" : "'published'", ", ",
      sweep.parent == 0 ? "NULL" : absl::StrCat(sweep.parent), ", 'request-", ++sweeps_, "', '', '', '{}', '', ",
      ended ? "now()" : "NULL", ") RETURNING id"));
}

int64_t MeasuredSweeps::Study(int64_t sweep, const StudyDefinition& definition, int64_t wanted) {
  One(absl::StrCat("INSERT INTO workloads (dataset, model, optimizer, variant, address, identity) VALUES (",
                   Quoted(definition.workload.dataset), ", ", Quoted(definition.workload.model), ", ",
                   Quoted(definition.workload.optimizer), ", ", Quoted(definition.workload.variant), ", ",
                   Quoted(WorkloadAddress(definition.workload)), ", ", Quoted(WorkloadIdentity(definition.workload)),
                   ") ON CONFLICT DO NOTHING RETURNING id"));
  const int64_t study = One(absl::StrCat(
      "INSERT INTO studies (sweep_id, workload_id, batch_size, budget_steps, metrics, parameters, space_hash, "
      "definition) SELECT ",
      sweep, ", id, ", definition.batch_size, ", ", definition.budget_steps, ", ", Array(definition.metrics),
      "::text[], ", Array(definition.ParameterNames()), "::text[], ", Quoted(SpaceHash(definition)), ", ",
      Quoted(ToJson(definition)), " FROM workloads WHERE identity = ", Quoted(WorkloadIdentity(definition.workload)),
      " RETURNING id"));
  One(absl::StrCat("INSERT INTO strands (study_id, wanted, max_trials) VALUES (", study, ", ", wanted, ", ",
                   10 * wanted, ") RETURNING id"));
  return study;
}

int64_t MeasuredSweeps::Trial(int64_t study, const MeasuredTrial& trial) {
  const bool running = trial.state == TrialState::kRunning;
  const bool granted = trial.state != TrialState::kQueued;
  const int64_t last_step = trial.steps.empty() ? -1 : trial.steps.back();
  const int64_t id = One(absl::StrCat(
      "WITH strand AS (UPDATE strands SET created = created + 1, ", Name(trial.state), " = ", Name(trial.state),
      " + 1 WHERE study_id = ", study, " RETURNING id, created) ",
      "INSERT INTO trials (study_id, strand_id, number, position, training_seed, attempt, session_id, base_step, "
      "last_step, end_step, grant_time, end_time, state, end_reason, parameters, coordinates) SELECT ",
      study, ", id, created, created - 1, 42, ", granted ? 1 : 0, ", ", running ? absl::StrCat(Session()) : "NULL",
      ", ", granted ? "-1" : "NULL", ", ", last_step, ", ",
      trial.state == TrialState::kInfeasible ? absl::StrCat(last_step + 1) : "NULL", ", ", granted ? "now()" : "NULL",
      ", ", IsTerminal(trial.state) ? "now()" : "NULL", ", ", Quoted(Name(trial.state)), ", ", ReasonOf(trial.state),
      ", ", Array(trial.parameters), ", ", trial.coordinates.empty() ? "NULL" : Array(trial.coordinates),
      " FROM strand RETURNING id"));

  const size_t points = trial.steps.size();
  for (size_t from = 0; from < points; from += 1024) {
    const size_t to = std::min(points, from + 1024);
    const std::vector<int64_t> steps(trial.steps.begin() + from, trial.steps.begin() + to);
    std::vector<double> values;
    for (const std::vector<double>& metric : trial.values) {
      values.insert(values.end(), metric.begin() + from, metric.begin() + to);
    }
    One(absl::StrCat("INSERT INTO chunks VALUES (", id, ", 1, ", steps.front(), ", ", steps.back(), ", 0, 0, ",
                     Array(steps), ", ", Array(values), ") RETURNING trial_id"));
  }

  if (IsTerminal(trial.state)) {
    TrialStaircases stairs(static_cast<int>(trial.values.size()));
    for (size_t m = 0; m < trial.values.size(); ++m) {
      for (size_t p = 0; p < points; ++p) stairs.Add(trial.steps[p], static_cast<int>(m), trial.values[m][p]);
    }
    std::vector<int64_t> offsets = {0}, steps;
    std::vector<double> values;
    for (int m = 0; m < stairs.metrics(); ++m) {
      for (const Staircase* one : {&stairs.falling(m), &stairs.rising(m)}) {
        steps.insert(steps.end(), one->steps.begin(), one->steps.end());
        values.insert(values.end(), one->values.begin(), one->values.end());
        offsets.push_back(static_cast<int64_t>(steps.size()));
      }
    }
    One(absl::StrCat(
        "INSERT INTO records (trial_id, study_id, number, offsets, steps, \"values\") SELECT id, study_id, "
        "number, ",
        Array(offsets), ", ", Array(steps), ", ", Array(values), " FROM trials WHERE id = ", id,
        " RETURNING trial_id"));
    Touch(study);
  }
  return id;
}

void MeasuredSweeps::Touch(int64_t study) {
  One(absl::StrCat("UPDATE studies SET results_version = results_version + 1 WHERE id = ", study, " RETURNING id"));
}

int64_t MeasuredSweeps::Session() {
  if (session_ == 0) {
    session_ =
        One("INSERT INTO sessions (expires_at, key, worker_name, build, server_name, slot_classes, can_run) VALUES "
            "(now() + "
            "interval '1 hour', repeat('a', 32), 'node-1', 'test', 'server-1', '[]', '{}') RETURNING id");
  }
  return session_;
}

}  // namespace stepcurve
