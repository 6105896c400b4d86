// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "client/render/rows.h"
#include "stepcurve/v1/sweep.pb.h"

namespace stepcurve {

// What `submit --dry-run` prints: what would be queued, what it would cost, and what space every distinct study came
// to. In JSON and CSV one row per study.
void PrintPlan(const std::string& sweep, const v1::SweepPlan& plan, Format format, std::ostream* out);

// {"learning_rate": {"min": ..., "max": ..., "scale": "log"}}.
nlohmann::ordered_json SpaceJson(const v1::Study& study);

}  // namespace stepcurve
