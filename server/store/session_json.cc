// SPDX-License-Identifier: Apache-2.0
#include "server/store/session_json.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace stepcurve {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(SlotClass, device, devices, memory_bytes, threads, slots, description)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DatasetOffer, name, train_examples, val_examples, test_examples,
                                                fingerprint)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Capabilities, datasets, models, optimizers)

namespace {

// A name that is not UTF-8 is kept readable rather than refused.
std::string Dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The one place here that meets nlohmann's exceptions.
template <typename T>
absl::StatusOr<T> Parse(absl::string_view text) try {
  return nlohmann::json::parse(text.begin(), text.end()).get<T>();
} catch (const nlohmann::json::exception& e) {
  return absl::DataLossError(absl::StrCat("a session's row cannot be read: ", e.what()));
}

}  // namespace

std::string SlotClassesToJson(const std::vector<SlotClass>& slot_classes) { return Dump(slot_classes); }
std::string CapabilitiesToJson(const Capabilities& can_run) { return Dump(can_run); }

absl::StatusOr<std::vector<SlotClass>> SlotClassesFromJson(absl::string_view json) {
  return Parse<std::vector<SlotClass>>(json);
}
absl::StatusOr<Capabilities> CapabilitiesFromJson(absl::string_view json) { return Parse<Capabilities>(json); }

}  // namespace stepcurve
