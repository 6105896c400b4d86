// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"

namespace stepcurve {

// What the program ends with, for scripts.
enum class ExitStatus {
  kDone = 0,
  kFailed = 1,
  kFixRequest = 2,  // Repeating it unchanged is of no use.
  kTryAgain = 3,    // Repeating it later may be.
};

inline ExitStatus ExitStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitStatus::kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return ExitStatus::kFixRequest;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitStatus::kTryAgain;
    default:
      return ExitStatus::kFailed;
  }
}

}  // namespace stepcurve
