// SPDX-License-Identifier: Apache-2.0
#include "worker/data/permutation.h"

#include <numeric>
#include <utility>

namespace stepcurve {

std::vector<int64_t> Permutation(int64_t n, SplitMix64& random) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.NextBelow(i)]);
  }
  return order;
}

}  // namespace stepcurve
