// SPDX-License-Identifier: Apache-2.0
//
// The models this worker can train. To add one: a row in the catalogue (proto/support/catalogue.h), a file here that
// makes it, a row in registry.cc; the registry's test then builds, steps and evaluates it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "worker/training/model.h"

namespace stepcurve {

struct ModelSettings {
  uint64_t seed = 0;  // Of the initial weights.
  at::Device device = at::kCPU;
  at::ScalarType type = at::kFloat;
};

struct ModelEntry {
  absl::string_view family;  // As in the catalogue.
  // INVALID_ARGUMENT when `name` is not of the family.
  absl::StatusOr<std::unique_ptr<Model>> (*make)(const std::string& name, const ModelSettings& settings);
};

absl::Span<const ModelEntry> ModelEntries();

// The model of a name, "fc_1024_64": with fresh weights, the same for the same seed on every device and release of
// Torch. INVALID_ARGUMENT lists the families when there is none of the name.
absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name, const ModelSettings& settings);

}  // namespace stepcurve
