// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "server/core/canonical_text.h"
#include "server/core/sweep_spec.h"
#include "stepcurve/v1/sweep_spec.pb.h"

namespace stepcurve {

// A request's spec as core knows it. FieldError for fields that this release does not know, however deep (they would be
// ignored silently), for numbers that are not finite, and for durations that are none. PlanSweep checks everything
// else.
absl::StatusOr<SweepSpec> SpecFromProto(const v1::SweepSpec& spec);

}  // namespace stepcurve
