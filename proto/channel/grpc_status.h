// SPDX-License-Identifier: Apache-2.0
//
// The one place where absl's status and gRPC's are turned into each other.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// Key of the payload that names the field at fault: "search.space.momentum".
inline constexpr absl::string_view kFieldPayloadKey = "stepcurve.field";

// The message, cut where it would no longer fit into trailers. That of INTERNAL and UNKNOWN is logged under a number
// and not sent, the number is. A field payload travels as v1::Failure in the details, and the message then reads
// "FIELD: TEXT".
grpc::Status ToGrpc(const absl::Status& status);

// The way back: code, message and field payload as they were before ToGrpc, as far as they were sent.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace stepcurve
