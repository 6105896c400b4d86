// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "server/core/sweep_spec.h"

namespace stepcurve {

// What a spec says, as lines "path: value". Equal for two specs that mean the same: what is written out as its default
// is left out, and order counts only where it has a meaning. Description, tags, priority and max_running are no part of
// it, since they may change after submit.
std::string CanonicalText(const SweepSpec& spec);

// Hash of the canonical text, in hex.
std::string SpecDigest(const SweepSpec& spec);

// Path of the first thing in which `changed` differs from `old`, as coarse as people think of it
// ("search.space.learning_rate", "workloads[0].model"); empty when they mean the same.
std::string FirstDifference(const SweepSpec& old, const SweepSpec& changed);

}  // namespace stepcurve
