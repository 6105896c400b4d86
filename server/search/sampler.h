// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

#include "server/search/space.h"

namespace stepcurve {

enum class SamplerKind { kHalton, kRandom, kGrid, kPoints };

// One point of a search: values under their published names, and the coordinates they were drawn as, before `times`; both
// in the space's order.
struct Point {
  std::vector<double> coordinates;
  std::vector<double> parameters;
  friend bool operator==(const Point&, const Point&) = default;
};

// What `times` multiplies by.
struct StudyScale {
  int64_t budget_steps = 1;
  int64_t batch_size = 1;
};

// Coordinates, in the space's order, multiplied as each entry's `times` says: by the budget (to whole steps, at least 1
// unless the coordinate is 0), by a power of the batch size, or by another entry's value.
std::vector<double> ApplyTimes(const SearchSpace& space, const std::vector<double>& coordinates,
                               const StudyScale& scale);

// A sequence of points: deterministic in (space, kind, key) and the index alone, so prefix-stable; the same on every
// machine. Immutable, thread-safe, cheap to make.
//
// halton: primes in order from 2 over the entries that are not fixed, each base's digits permuted by a Fisher-Yates shuffle
// and shifted modulo 1, both from SplitMix64(key). random: SplitMix64 of (key, index). grid: the product of the entries'
// values, the last entry fastest; ranges by `count`. points: a table.
class Sampler final {
 public:
  // `table`: for kPoints, row-major in the space's order; ignored otherwise.
  Sampler(SearchSpace space, SamplerKind kind, uint64_t key, std::vector<double> table = {});

  // Points that exist: grid and points are finite, the others have no end (the largest int64).
  int64_t size() const { return size_; }

  // 0 <= index < size().
  Point At(int64_t index, const StudyScale& scale) const;

 private:
  SearchSpace space_;
  SamplerKind kind_;
  uint64_t key_;
  std::vector<double> table_;
  int64_t size_;
  std::vector<std::vector<int>> permutations_;  // halton: per dimension, of the digits.
  std::vector<double> shifts_;
};

}  // namespace stepcurve
