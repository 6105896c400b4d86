// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

#include "proto/support/goal.h"
#include "server/analysis/staircase.h"

namespace stepcurve {

inline constexpr int kLayers = 5;

// One trial's running best as the envelope takes it in.
struct PooledTrial {
  int64_t trial = 0;
  int64_t number = 0;
  const Staircase* best = nullptr;  // Not owned. In the envelope's direction.
};

// The k-th best running best over pooled trials at every step: layer 1 is the best so far and its first entry past a
// goal is the study's answer for that goal; layer k gives rank k. Ties in step go to the lower number, then the lower
// trial id.
struct EnvelopeLayer {
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<int64_t> trials;
  std::vector<int64_t> numbers;
};
struct Envelope {
  bool rising = false;
  std::vector<EnvelopeLayer> layers;  // Up to kLayers, fewer with fewer trials.
};

// For every goal and k: the k-th smallest (step, number, trial) of the pooled trials' first crossings is what
// Find(goal, k) gives on the result. Cost: a heap merge of the staircases' entries.
Envelope BuildEnvelope(absl::Span<const PooledTrial> pool, bool rising);

struct Crossing {
  int64_t step = 0;
  double value = 0;
  int64_t trial = 0;
  int64_t number = 0;
};

// First entry of a layer past the goal, by bisection. `rank` from 1.
std::optional<Crossing> FindCrossing(const Envelope& envelope, const Goal& goal, int rank);

}  // namespace stepcurve
