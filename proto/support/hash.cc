// SPDX-License-Identifier: Apache-2.0
#include "proto/support/hash.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace stepcurve {

uint64_t Fnv1a64(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) {
    hash = (hash ^ c) * 0x100000001b3;
  }
  return hash;
}

uint64_t SplitMix64::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double SplitMix64::NextUniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

uint64_t SplitMix64::NextBelow(uint64_t n) {
  // The largest multiple of n that fits: above it the low residues would be favoured.
  const uint64_t limit = std::numeric_limits<uint64_t>::max() - std::numeric_limits<uint64_t>::max() % n;
  uint64_t x = Next();
  while (x >= limit) {
    x = Next();
  }
  return x % n;
}

uint64_t SequenceKey(int64_t seed, absl::string_view workload_identity, int64_t batch_size,
                     absl::string_view split_value) {
  return Fnv1a64(absl::StrCat(seed, "|", workload_identity, "|", batch_size, "|", split_value, "|sequence"));
}

uint64_t TrainingSeed(int64_t seed, absl::string_view workload_identity, int64_t batch_size, int64_t number,
                      int32_t repeat) {
  return Fnv1a64(
      absl::StrCat(seed, "|", workload_identity, "|", batch_size, "|", number, "|", repeat, "|training"));
}

}  // namespace stepcurve
