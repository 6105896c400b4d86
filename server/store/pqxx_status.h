// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace stepcurve {

// Runs `body` and turns what libpqxx throws into a status, by SQLSTATE. The one place that catches libpqxx.
absl::Status CatchPqxx(absl::FunctionRef<absl::Status()> body);

}  // namespace stepcurve
