// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "client/sweep_file/fields.h"
#include "stepcurve/v1/sweep_spec.pb.h"

namespace stepcurve {

// The section `search` of a sweep file, and of an override, where a null in `space` removes a parameter.
absl::Status ReadSearch(const Place& at, v1::Search* out);
absl::Status ReadOverrideSearch(const Place& at, v1::Search* out);

}  // namespace stepcurve
