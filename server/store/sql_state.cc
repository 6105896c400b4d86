// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/store/database.h"

namespace stepcurve {

absl::Status StatusFromSqlState(absl::string_view sqlstate, absl::string_view message) {
  if (sqlstate == "40001" || sqlstate == "40P01") {
    return absl::AbortedError(message);
  }
  // No connection; shutdown or start of PostgreSQL; a read-only database, as after a fail-over; all connections taken.
  if (absl::StartsWith(sqlstate, "08") || (absl::StartsWith(sqlstate, "57P")) || sqlstate == "25006" ||
      sqlstate == "53300") {
    return absl::UnavailableError(message);
  }
  if (sqlstate == "53100" || sqlstate == "53200") {
    return absl::ResourceExhaustedError(message);
  }
  if (sqlstate == "57014") {
    return absl::DeadlineExceededError(message);
  }
  if (sqlstate == "23505") {
    return absl::AlreadyExistsError(message);
  }
  if (absl::StartsWith(sqlstate, "23")) {
    return absl::FailedPreconditionError(message);
  }
  if (absl::StartsWith(sqlstate, "22")) {
    return absl::InvalidArgumentError(message);
  }
  return absl::InternalError(absl::StrCat(message, " (SQLSTATE ", sqlstate, ")"));
}

}  // namespace stepcurve
