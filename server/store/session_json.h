// SPDX-License-Identifier: Apache-2.0
//
// What a worker says of itself, as the columns sessions.slot_classes and sessions.can_run hold it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/claim_plan.h"

namespace stepcurve {

// [{"device": "cpu", "devices": 1, "memory_bytes": 0, "threads": 1, "slots": 2, "description": ""}, ...]
std::string SlotClassesToJson(const std::vector<SlotClass>& slot_classes);
// {"datasets": [{"name", "train_examples", "val_examples", "test_examples", "fingerprint"}, ...], "models": [...],
//  "optimizers": [...]}
std::string CapabilitiesToJson(const Capabilities& can_run);

// The reverse; DATA_LOSS for anything else.
absl::StatusOr<std::vector<SlotClass>> SlotClassesFromJson(absl::string_view json);
absl::StatusOr<Capabilities> CapabilitiesFromJson(absl::string_view json);

}  // namespace stepcurve
