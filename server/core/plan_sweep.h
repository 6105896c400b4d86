// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"

#include "server/core/sweep_plan.h"
#include "server/core/sweep_spec.h"

namespace stepcurve {

// Trials that one sweep may want.
inline constexpr int64_t kMaxTrialsPerSweep = 1'000'000;

// Resolves a spec: checks every rule of the sweep file, multiplies lists, applies overrides in order, turns epochs into
// steps and fills defaults in. A function of the spec and the catalogue alone. Fails with a FieldError at the first
// field that is wrong.
absl::StatusOr<SweepPlan> PlanSweep(const SweepSpec& spec);

}  // namespace stepcurve
