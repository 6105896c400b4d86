// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"

#include "server/store/database.h"

namespace stepcurve {

// Applies the migrations that the schema lacks, under an advisory lock keyed by the schema; creates the schema if it is missing.
// FAILED_PRECONDITION when the schema is newer than this build and its min_server above it. Idempotent; servers may race.
absl::Status Migrate(Database& database);

// Takes back the newest migration. For tests and for operators.
absl::Status MigrateDown(Database& database);

// The newest version that this build knows.
int LatestSchemaVersion();

}  // namespace stepcurve
