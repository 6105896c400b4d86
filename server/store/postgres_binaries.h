// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace stepcurve {

// The folder of initdb, pg_ctl and postgres. `major`: the version that made a cluster, as its PG_VERSION says; empty
// takes the newest. Debian's folders go before the PATH. FAILED_PRECONDITION with the way out where there are none.
absl::StatusOr<std::string> FindPostgresBinaries(const std::string& major);

}  // namespace stepcurve
