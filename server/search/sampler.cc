// SPDX-License-Identifier: Apache-2.0
#include "server/search/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "proto/support/hash.h"

namespace stepcurve {
namespace {

constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

// Largest power of a base whose multiples below 1 are exact doubles.
constexpr uint64_t kMaxDenominator = uint64_t{1} << 53;

std::vector<int> FirstPrimes(int count) {
  std::vector<int> primes;
  for (int n = 2; static_cast<int>(primes.size()) < count; ++n) {
    if (std::none_of(primes.begin(), primes.end(), [n](int prime) { return n % prime == 0; })) {
      primes.push_back(n);
    }
  }
  return primes;
}

std::vector<int> Shuffled(int count, SplitMix64& random) {
  std::vector<int> permutation(count);
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int i = count - 1; i > 0; --i) {
    std::swap(permutation[i], permutation[random.NextBelow(i + 1)]);
  }
  return permutation;
}

// The digits of `index` in the permutation's base, permuted and mirrored at the point. All digits that a double can
// hold are permuted, leading zeros too: only then do different indices keep different values.
double RadicalInverse(uint64_t index, const std::vector<int>& permutation) {
  const uint64_t base = permutation.size();
  uint64_t numerator = 0;
  uint64_t denominator = 1;
  while (denominator <= kMaxDenominator / base) {
    numerator = numerator * base + permutation[index % base];
    denominator *= base;
    index /= base;
  }
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

int64_t SizeOf(const SpaceEntry& entry) {
  if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) return static_cast<int64_t>(values->values.size());
  if (const auto* range = std::get_if<RangeEntry>(&entry.kind)) return range->count.value_or(0);
  return 1;
}

// `index`-th of a range's `count` grid points; first and last are min and max themselves.
double GridValue(const RangeEntry& range, int64_t index) {
  const int64_t last = *range.count - 1;
  if (index == 0) return range.min;
  if (index == last) return range.max;
  double value = 0;
  if (range.scale == Scale::kLinear) {
    // Weighted sum over whole numbers, so that a range by tenths gives tenths.
    value = (range.min * static_cast<double>(last - index) + range.max * static_cast<double>(index)) /
            static_cast<double>(last);
  }
  if (range.scale != Scale::kLinear || !std::isfinite(value)) {
    RangeEntry continuous = range;
    continuous.integer = false;
    value = ValueAt(continuous, static_cast<double>(index) / static_cast<double>(last));
  }
  return range.integer ? std::round(value) + 0.0 : value;
}

// Value of an entry that is not fixed at unit coordinate u.
double DrawnValue(const SpaceEntry& entry, double u) {
  if (const auto* values = std::get_if<ValuesEntry>(&entry.kind)) {
    return values->values[static_cast<size_t>(u * static_cast<double>(values->values.size()))];
  }
  return ValueAt(std::get<RangeEntry>(entry.kind), u);
}

std::vector<double> GridCoordinates(const SearchSpace& space, int64_t index) {
  std::vector<double> coordinates(space.size());
  for (size_t i = space.size(); i-- > 0;) {
    const int64_t size = SizeOf(space[i]);
    const int64_t digit = index % size;
    index /= size;
    if (const auto* fixed = std::get_if<FixedEntry>(&space[i].kind)) {
      coordinates[i] = fixed->value;
    } else if (const auto* values = std::get_if<ValuesEntry>(&space[i].kind)) {
      coordinates[i] = values->values[digit];
    } else {
      coordinates[i] = GridValue(std::get<RangeEntry>(space[i].kind), digit);
    }
  }
  return coordinates;
}

// Everything but times another parameter.
double Scaled(double coordinate, const Times& times, const StudyScale& scale) {
  if (std::holds_alternative<TimesBudget>(times)) {
    if (coordinate == 0) return 0;
    return std::max(1.0, std::round(coordinate * static_cast<double>(scale.budget_steps)));
  }
  if (const auto* batch_size = std::get_if<TimesBatchSize>(&times)) {
    return coordinate *
           std::pow(static_cast<double>(scale.batch_size) / static_cast<double>(batch_size->at), batch_size->power);
  }
  return coordinate;
}

int64_t SizeOfGrid(const SearchSpace& space) {
  int64_t size = 1;
  for (const SpaceEntry& entry : space) {
    if (__builtin_mul_overflow(size, SizeOf(entry), &size)) return kEndless;
  }
  return size;
}

}  // namespace

std::vector<double> ApplyTimes(const SearchSpace& space, const std::vector<double>& coordinates,
                               const StudyScale& scale) {
  std::vector<double> values(space.size());
  for (size_t i = 0; i < space.size(); ++i) {
    values[i] = Scaled(coordinates[i], space[i].times, scale);
  }
  for (size_t i = 0; i < space.size(); ++i) {
    const auto* other = std::get_if<TimesParameter>(&space[i].times);
    if (other == nullptr) continue;
    for (size_t j = 0; j < space.size(); ++j) {
      if (space[j].name == other->name) values[i] = coordinates[i] * values[j];
    }
  }
  return values;
}

Sampler::Sampler(SearchSpace space, SamplerKind kind, uint64_t key, std::vector<double> table)
    : space_(std::move(space)), kind_(kind), key_(key), table_(std::move(table)), size_(kEndless) {
  switch (kind_) {
    case SamplerKind::kHalton: {
      SplitMix64 random(key_);
      for (int prime : FirstPrimes(Dimensions(space_))) {
        permutations_.push_back(Shuffled(prime, random));
        shifts_.push_back(random.NextUniform());
      }
      break;
    }
    case SamplerKind::kRandom:
      break;
    case SamplerKind::kGrid:
      size_ = SizeOfGrid(space_);
      break;
    case SamplerKind::kPoints:
      size_ = space_.empty() ? 0 : static_cast<int64_t>(table_.size() / space_.size());
      break;
  }
}

Point Sampler::At(int64_t index, const StudyScale& scale) const {
  Point point;
  if (kind_ == SamplerKind::kGrid) {
    point.coordinates = GridCoordinates(space_, index);
  } else if (kind_ == SamplerKind::kPoints) {
    const auto row = table_.begin() + index * static_cast<int64_t>(space_.size());
    point.coordinates.assign(row, row + static_cast<int64_t>(space_.size()));
  } else {
    // Neighbouring indices must not give overlapping streams, so the index is mixed first.
    SplitMix64 random(key_ ^ SplitMix64(static_cast<uint64_t>(index)).Next());
    size_t dimension = 0;
    for (const SpaceEntry& entry : space_) {
      if (const auto* fixed = std::get_if<FixedEntry>(&entry.kind)) {
        point.coordinates.push_back(fixed->value);
        continue;
      }
      double u = 0;
      if (kind_ == SamplerKind::kRandom) {
        u = random.NextUniform();
      } else {
        u = RadicalInverse(static_cast<uint64_t>(index), permutations_[dimension]) + shifts_[dimension];
        if (u >= 1) u -= 1;
        ++dimension;
      }
      point.coordinates.push_back(DrawnValue(entry, u));
    }
  }
  point.parameters = ApplyTimes(space_, point.coordinates, scale);
  return point;
}

}  // namespace stepcurve
