// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace stepcurve {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "") {
  *result_listener << StatusOf(arg);
  return arg.ok();
}

MATCHER_P(HasCode, code, "") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code;
}

// Code and a part of the message.
MATCHER_P2(Fails, code, part, "") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).code() == code && StatusOf(arg).message().find(part) != absl::string_view::npos;
}

}  // namespace stepcurve
