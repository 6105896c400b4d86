// SPDX-License-Identifier: Apache-2.0
//
// Early return on failure. Each macro is several statements: brace the branch it stands in.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define STEPCURVE_CONCAT_INNER(a, b) a##b
#define STEPCURVE_CONCAT(a, b) STEPCURVE_CONCAT_INNER(a, b)

// Returns the status of `expression` from the calling function unless it is OK.
#define STEPCURVE_RETURN_IF_ERROR(expression)                \
  do {                                                       \
    if (absl::Status status = (expression); !status.ok()) {  \
      return status;                                         \
    }                                                        \
  } while (false)

// Declares or assigns `target` from the StatusOr `expression`, or returns its status.
#define STEPCURVE_ASSIGN_OR_RETURN(target, expression) \
  STEPCURVE_ASSIGN_OR_RETURN_INNER(STEPCURVE_CONCAT(status_or_, __LINE__), target, expression)

#define STEPCURVE_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                        \
  if (!result.ok()) {                                                \
    return std::move(result).status();                               \
  }                                                                  \
  target = *std::move(result)
