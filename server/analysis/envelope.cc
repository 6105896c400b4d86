// SPDX-License-Identifier: Apache-2.0
#include "server/analysis/envelope.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace stepcurve {
namespace {

// The next entry of one trial's staircase. Ordered by step, then number, then trial.
struct Event {
  int64_t step;
  int64_t number;
  int64_t trial;
  size_t index;  // Of the trial in the pool.
  size_t entry;  // Of the staircase.

  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.step, a.number, a.trial) > std::tie(b.step, b.number, b.trial);
  }
};

// The best values so far, one a trial, best first; at most kLayers of them. What falls out never matters again, since
// values only improve and only the values of the first kLayers ranks are asked for.
class Leaders {
 public:
  explicit Leaders(bool rising) : rising_(rising) {}

  // Takes a trial's new best in and returns the rank it has now, from 0; kLayers if it is none of them.
  size_t Improve(size_t trial, double value) {
    auto place = std::find_if(leaders_.begin(), leaders_.end(), [&](const Leader& l) { return l.trial == trial; });
    if (place != leaders_.end()) {
      leaders_.erase(place);
    }
    place = std::find_if(leaders_.begin(), leaders_.end(), [&](const Leader& l) { return Better(value, l.value); });
    const size_t rank = place - leaders_.begin();
    if (rank >= kLayers) return kLayers;
    leaders_.insert(place, {trial, value});
    if (leaders_.size() > kLayers) leaders_.pop_back();
    return rank;
  }

  bool Better(double a, double b) const { return rising_ ? a > b : a < b; }
  size_t size() const { return leaders_.size(); }
  double value(size_t rank) const { return leaders_[rank].value; }

 private:
  struct Leader {
    size_t trial;
    double value;
  };
  bool rising_;
  std::vector<Leader> leaders_;
};

}  // namespace

Envelope BuildEnvelope(absl::Span<const PooledTrial> pool, bool rising) {
  Envelope envelope{.rising = rising};
  envelope.layers.resize(std::min<size_t>(kLayers, pool.size()));

  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  const auto push = [&](size_t index, size_t entry) {
    const PooledTrial& trial = pool[index];
    if (entry < trial.best->steps.size()) {
      events.push({trial.best->steps[entry], trial.number, trial.trial, index, entry});
    }
  };
  for (size_t i = 0; i < pool.size(); ++i) push(i, 0);

  Leaders leaders(rising);
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    push(event.index, event.entry + 1);
    const size_t rank = leaders.Improve(event.index, pool[event.index].best->values[event.entry]);
    // Only layers from the trial's new rank on can have improved; each goal between a layer's old and new value has
    // this trial as its crossing of that rank, for no other trial has moved.
    for (size_t k = rank; k < leaders.size(); ++k) {
      EnvelopeLayer& layer = envelope.layers[k];
      if (!layer.values.empty() && !leaders.Better(leaders.value(k), layer.values.back())) continue;
      layer.steps.push_back(event.step);
      layer.values.push_back(leaders.value(k));
      layer.trials.push_back(event.trial);
      layer.numbers.push_back(event.number);
    }
  }
  return envelope;
}

std::optional<Crossing> FindCrossing(const Envelope& envelope, const Goal& goal, int rank) {
  if (rank < 1 || static_cast<size_t>(rank) > envelope.layers.size()) return std::nullopt;
  const EnvelopeLayer& layer = envelope.layers[rank - 1];
  const auto past =
      std::partition_point(layer.values.begin(), layer.values.end(), [&](double value) { return !goal.IsPast(value); });
  if (past == layer.values.end()) return std::nullopt;
  const size_t i = past - layer.values.begin();
  return Crossing{
      .step = layer.steps[i], .value = layer.values[i], .trial = layer.trials[i], .number = layer.numbers[i]};
}

}  // namespace stepcurve
