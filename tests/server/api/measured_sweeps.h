// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/state.h"
#include "server/core/study_definition.h"
#include "server/store/database.h"

namespace stepcurve {

// A study of a small quadratic: metrics val/loss and test/loss, learning_rate 0.01 to 1 on a log scale, budget 1,000,
// evaluated every 10 steps.
StudyDefinition QuadraticStudy(int64_t batch_size);

struct MeasuredSweep {
  std::string name;
  SweepState state = SweepState::kDone;
  Semantics semantics = Semantics::kPublished;
  int64_t parent = 0;
};

// A trial with what it measured: values[m][p] is metric m at steps[p].
struct MeasuredTrial {
  TrialState state = TrialState::kComplete;
  std::vector<int64_t> steps;
  std::vector<std::vector<double>> values;
  std::vector<double> parameters = {0.1};
  std::vector<double> coordinates;
};

// A trial of QuadraticStudy: val/loss as given, test/loss 1 above it.
MeasuredTrial Losses(std::vector<int64_t> steps, std::vector<double> losses, TrialState state = TrialState::kComplete);

// Writes sweeps with results as the server would have left them. Failures abort the test program.
class MeasuredSweeps final {
 public:
  explicit MeasuredSweeps(Database* database) : database_(database) {}  // Not owned.

  int64_t Sweep(const MeasuredSweep& sweep);
  int64_t Study(int64_t sweep, const StudyDefinition& definition, int64_t wanted = 100);
  // Numbers count from 1 within a study. Ended trials have records, running ones a session; all have chunks. What
  // diverged did so at the step after its last.
  int64_t Trial(int64_t study, const MeasuredTrial& trial);
  // Raises results_version, as the end of a trial does.
  void Touch(int64_t study);

 private:
  int64_t Session();
  int64_t One(const std::string& statement);

  Database* database_;
  int sweeps_ = 0;
  int64_t session_ = 0;
};

}  // namespace stepcurve
