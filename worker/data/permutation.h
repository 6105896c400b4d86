// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "proto/support/hash.h"

namespace stepcurve {

// 0 to n - 1 in an order drawn from `random`, each order as likely as the others (Fisher and Yates).
std::vector<int64_t> Permutation(int64_t n, SplitMix64& random);

}  // namespace stepcurve
