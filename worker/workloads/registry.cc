// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/registry.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker/workloads/fully_connected.h"
#include "worker/workloads/simple_cnn.h"

namespace stepcurve {
namespace {

constexpr ModelEntry kModels[] = {
    {"fc", &MakeFullyConnected},
    {"simple_cnn", &MakeSimpleCnn},
};

}  // namespace

absl::Span<const ModelEntry> ModelEntries() { return kModels; }

absl::StatusOr<std::unique_ptr<Model>> MakeModel(const std::string& name, const ModelSettings& settings) {
  for (const ModelEntry& entry : kModels) {
    if (absl::StartsWith(name, absl::StrCat(entry.family, "_"))) return entry.make(name, settings);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "model is ", name, "; this trainer has the families ",
      absl::StrJoin(kModels, ", ",
                    [](std::string* out, const ModelEntry& entry) { absl::StrAppend(out, entry.family); })));
}

}  // namespace stepcurve
