// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/store/session_store.h"
#include "stepcurve/v1/worker_service.pb.h"

namespace stepcurve {

// Of worker_service.proto.
inline constexpr int kWorkerProtocol = 1;

// The first message of a worker. INVALID_ARGUMENT names what cannot be.
absl::StatusOr<HelloRequest> ReadHello(const v1::WorkerMessage& message, absl::string_view server_name);

}  // namespace stepcurve
