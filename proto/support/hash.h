// SPDX-License-Identifier: Apache-2.0
//
// Hashes and random numbers that are part of results: the same on every build, machine and library.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace stepcurve {

// FNV-1a, 64 bits.
uint64_t Fnv1a64(absl::string_view text);

// SplitMix64: a stream of 64-bit numbers from a seed.
class SplitMix64 final {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // (x >> 11) * 2^-53, in [0, 1).
  double NextUniform();
  // Uniform in [0, n) by rejection, n > 0.
  uint64_t NextBelow(uint64_t n);

 private:
  uint64_t state_;
};

// Key of a study's sequence of points: the hash of "seed|identity|batch|sequence". batch_size 0 where the points are
// shared across batch sizes; split_value is part of it where the study is split ("" otherwise).
uint64_t SequenceKey(int64_t seed, absl::string_view workload_identity, int64_t batch_size,
                     absl::string_view split_value);

// Seed of one training run: the hash of "seed|identity|batch|number|repeat|training".
uint64_t TrainingSeed(int64_t seed, absl::string_view workload_identity, int64_t batch_size, int64_t number,
                      int32_t repeat);

}  // namespace stepcurve
