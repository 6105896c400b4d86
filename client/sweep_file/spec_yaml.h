// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stepcurve/v1/sweep_spec.pb.h"

namespace stepcurve {

// A sweep file that ParseSweepFile reads as an equal spec: fields in the manual's order, the author's order within
// lists and spaces, every number the shortest that is the same.
std::string SpecYaml(const v1::SweepSpec& spec);

}  // namespace stepcurve
