// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "server/core/events.h"
#include "server/store/claim_store.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

v1::Standing ToProto(const Standing& standing);
v1::Assignment ToProto(const Grant& grant);
google::protobuf::Duration ToProto(absl::Duration duration);

}  // namespace stepcurve
