// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"

#include "stepcurve/v1/sweep_spec.pb.h"

namespace stepcurve {

// What is true of no message of a spec, however deep: fields that this release does not know, and numbers that are not
// finite. A FieldError at the path that the sweep file would spell.
absl::Status CheckFields(const v1::SweepSpec& spec);

}  // namespace stepcurve
