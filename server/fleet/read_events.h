// SPDX-License-Identifier: Apache-2.0
//
// The worker's events as ingest carries them. Total: what cannot be is refused before (AttemptTable).
#pragma once

#include <cstdint>

#include "server/core/events.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

AttemptEvents ToEvents(const v1::Start& start, int64_t session);
AttemptEvents ToEvents(const v1::Report& report, int64_t session);

// Texts are cut to what people read, and to what the database can store.
AttemptEvents ToEvents(const v1::End& end, int64_t session);

}  // namespace stepcurve
