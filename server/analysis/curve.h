// SPDX-License-Identifier: Apache-2.0
//
// Steps to result at one batch size, as a pure function of envelopes, counts and grids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"

#include "proto/support/evaluation_grid.h"
#include "proto/support/goal.h"
#include "server/analysis/envelope.h"

namespace stepcurve {

// One study of a batch size; several where sweeps are pooled.
struct PooledStudy {
  int64_t study = 0;
  const Envelope* envelope = nullptr;  // Not owned. Of the admitted trials, in the goal's direction.
  int64_t admitted = 0;                // Trials that the envelope is taken over.
  int64_t wanted = 0;
  int64_t open = 0;        // Trials queued or running.
  int64_t infeasible = 0;  // Of the whole study.
  int64_t ended = 0;       // Of the whole study, without those cancelled.
  int64_t budget_steps = 0;
  EvaluationGrid grid;
  int64_t metric_every = 1;  // The goal's metric is evaluated at every n-th evaluation.
};

struct PointAnswer {
  enum class Status { kReached, kNotReached, kTooFew, kNoTrials };
  // Final: nothing that may still run can change it. Provisional: trials of its studies are queued or running.
  // Censored: a trial stopped early might have been sooner; cannot arise while nothing is stopped early.
  enum class Certainty { kFinal, kCensored, kProvisional };
  Status status = Status::kNoTrials;
  Certainty certainty = Certainty::kFinal;
  int64_t steps_at_least = 0;
  // With kReached:
  size_t study = 0;  // Index of the winner's study.
  Crossing winner;
  int64_t previous_step = -1;       // The winner's evaluation before; -1 none.
  std::vector<int64_t> rank_steps;  // Ranks 2 to 5, as far as the pool goes; -1 not reached.
  int64_t admitted = 0;
  int64_t wanted = 0;
};

// The fewest steps to the goal over all admitted trials. Ties in step go to the earlier study of the list, then to the
// lower number, then to the lower trial id. `first_trials`: how many trials each study's pool should hold; 0 all.
PointAnswer AnswerPoint(absl::Span<const PooledStudy> studies, const Goal& goal, int64_t first_trials);

// What else is known of a winner.
struct WinnerFacts {
  // Unit coordinates of the metaparameters that were drawn from ranges.
  std::vector<std::pair<std::string, double>> coordinates;
  std::optional<double> next_value;  // At the next evaluation.
};

struct PointWarning {
  std::string code;
  std::string text;
};

// What a reader should know before believing the point, by stable codes:
//   edge:PARAM:high|low  the winner lies within 5 % of an end of its range, in the scaled coordinate
//   budget               the winner crossed in the last quarter of the budget
//   grid                 the last evaluation before lies more than 10 % (and more than a step) below
//   few                  fewer trials than wanted, and no more will come
//   once                 the next evaluation was back
//   alone                the second trial came more than 1.5 x later, or never
//   infeasible           more than half of the trials that ended diverged
//   step-zero            past the goal before training
std::vector<PointWarning> PointWarnings(absl::Span<const PooledStudy> studies, const Goal& goal, int64_t first_trials,
                                        const PointAnswer& answer, const WinnerFacts& facts);

// The evaluation of a metric before `step`; -1 none.
int64_t PreviousEvaluation(const EvaluationGrid& grid, int64_t budget_steps, int64_t metric_every, int64_t step);

}  // namespace stepcurve
