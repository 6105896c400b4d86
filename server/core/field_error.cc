// SPDX-License-Identifier: Apache-2.0
#include "server/core/field_error.h"

#include "absl/strings/cord.h"

namespace stepcurve {

absl::Status FieldError(absl::string_view path, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kFieldPayload, absl::Cord(path));
  return status;
}

std::string FieldOf(const absl::Status& status) {
  const auto path = status.GetPayload(kFieldPayload);
  return path.has_value() ? std::string(*path) : "";
}

}  // namespace stepcurve
