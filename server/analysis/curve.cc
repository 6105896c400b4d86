// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/curve.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

namespace stepcurve {
namespace {

// How near an end of its range, in the scaled coordinate, a winner lies "at the edge".
constexpr double kEdge = 0.05;
constexpr double kLateShare = 0.75;    // Of the budget.
constexpr double kWideBracket = 0.10;  // Of the steps.
constexpr double kAloneFactor = 1.5;   // Between the second trial and the first.

// A crossing of some study of the pool.
struct Candidate {
  size_t study;
  Crossing crossing;

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tie(a.crossing.step, a.study, a.crossing.number, a.crossing.trial) <
           std::tie(b.crossing.step, b.study, b.crossing.number, b.crossing.trial);
  }
};

// The first kLayers crossings over all studies: each study's own first kLayers are enough to find them.
std::vector<Candidate> FirstCrossings(absl::Span<const PooledStudy> studies, const Goal& goal) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < studies.size(); ++i) {
    for (int rank = 1; rank <= kLayers; ++rank) {
      const std::optional<Crossing> crossing = FindCrossing(*studies[i].envelope, goal, rank);
      if (!crossing.has_value()) break;
      candidates.push_back({i, *crossing});
    }
  }
  std::sort(candidates.begin(), candidates.end());
  if (candidates.size() > kLayers) candidates.resize(kLayers);
  return candidates;
}

}  // namespace

int64_t PreviousEvaluation(const EvaluationGrid& grid, int64_t budget_steps, int64_t metric_every, int64_t step) {
  int64_t previous = -1;
  int64_t index = 0;
  for (std::optional<int64_t> at = 0; at.has_value() && *at < step; at = NextEvaluation(grid, budget_steps, *at)) {
    if (index % metric_every == 0) previous = *at;
    ++index;
  }
  return previous;
}

PointAnswer AnswerPoint(absl::Span<const PooledStudy> studies, const Goal& goal, int64_t first_trials) {
  PointAnswer answer;
  bool too_few = false;
  bool open = false;
  for (const PooledStudy& study : studies) {
    answer.admitted += study.admitted;
    answer.wanted += study.wanted;
    too_few = too_few || study.admitted < first_trials;
    open = open || study.open > 0;
  }
  // A running trial restarts from scratch if it comes back, so it might yet be measured anywhere from step 0 on.
  answer.certainty = open ? PointAnswer::Certainty::kProvisional : PointAnswer::Certainty::kFinal;
  if (answer.admitted == 0) {
    answer.status = PointAnswer::Status::kNoTrials;
    return answer;
  }
  if (too_few) {
    answer.status = PointAnswer::Status::kTooFew;
    return answer;
  }
  const std::vector<Candidate> crossings = FirstCrossings(studies, goal);
  for (size_t rank = 2; rank <= kLayers && static_cast<int64_t>(rank) <= answer.admitted; ++rank) {
    answer.rank_steps.push_back(rank <= crossings.size() ? crossings[rank - 1].crossing.step : -1);
  }
  if (crossings.empty()) {
    answer.status = PointAnswer::Status::kNotReached;
    return answer;
  }
  answer.status = PointAnswer::Status::kReached;
  answer.study = crossings[0].study;
  answer.winner = crossings[0].crossing;
  const PooledStudy& study = studies[answer.study];
  answer.previous_step = PreviousEvaluation(study.grid, study.budget_steps, study.metric_every, answer.winner.step);
  if (!open) answer.steps_at_least = answer.winner.step;
  return answer;
}

std::vector<PointWarning> PointWarnings(absl::Span<const PooledStudy> studies, const Goal& goal, int64_t first_trials,
                                        const PointAnswer& answer, const WinnerFacts& facts) {
  std::vector<PointWarning> warnings;
  const auto warn = [&](std::string code, std::string text) { warnings.push_back({std::move(code), std::move(text)}); };
  int64_t infeasible = 0;
  int64_t ended = 0;
  for (const PooledStudy& study : studies) {
    infeasible += study.infeasible;
    ended += study.ended;
  }

  if (answer.status == PointAnswer::Status::kReached) {
    const int64_t steps = answer.winner.step;
    for (const auto& [name, coordinate] : facts.coordinates) {
      if (coordinate <= kEdge) {
        warn("edge:" + name + ":low", absl::StrFormat("%s of the winner lies at the lower end of its range", name));
      } else if (coordinate >= 1 - kEdge) {
        warn("edge:" + name + ":high", absl::StrFormat("%s of the winner lies at the upper end of its range", name));
      }
    }
    const int64_t budget = studies[answer.study].budget_steps;
    if (static_cast<double>(steps) > kLateShare * static_cast<double>(budget)) {
      warn("budget", absl::StrFormat("crossed in the last quarter of the budget of %d steps", budget));
    }
    const int64_t bracket = steps - answer.previous_step;
    if (steps > 0 && bracket > 1 && static_cast<double>(bracket) > kWideBracket * static_cast<double>(steps)) {
      warn("grid", absl::StrFormat("the evaluation before was at step %d, %.0f %% earlier", answer.previous_step,
                                   100.0 * static_cast<double>(bracket) / static_cast<double>(steps)));
    }
    if (facts.next_value.has_value() && !goal.IsPast(*facts.next_value)) {
      warn("once", absl::StrFormat("the winner's next evaluation was back at %s", FormatDouble(*facts.next_value)));
    }
    if (!answer.rank_steps.empty()) {
      const int64_t second = answer.rank_steps[0];
      if (second < 0) {
        warn("alone", "no other trial reached the goal");
      } else if (static_cast<double>(second) > kAloneFactor * static_cast<double>(steps)) {
        warn("alone", absl::StrFormat("the next trial took %d steps", second));
      }
    }
    if (steps == 0) {
      warn("step-zero", "past the goal before training");
    }
  }
  if (first_trials == 0 && answer.certainty != PointAnswer::Certainty::kProvisional &&
      answer.admitted < answer.wanted) {
    warn("few", absl::StrFormat("%d of %d trials", answer.admitted, answer.wanted));
  }
  if (2 * infeasible > ended) {
    warn("infeasible", absl::StrFormat("%d of %d trials diverged", infeasible, ended));
  }
  return warnings;
}

}  // namespace stepcurve
