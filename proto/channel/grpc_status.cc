// SPDX-License-Identifier: Apache-2.0
#include "proto/channel/grpc_status.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "proto/channel/random_id.h"
#include "spdlog/spdlog.h"
#include "stepcurve/v1/failure.pb.h"

namespace stepcurve {
namespace {

// Peers refuse more than 8 KiB of trailers, and the text travels twice where a field is named, the second time in
// base64.
constexpr size_t kMaxTextBytes = 2048;

static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED);
static_assert(static_cast<int>(absl::StatusCode::kFailedPrecondition) == grpc::StatusCode::FAILED_PRECONDITION);

// Cut before a character that would not fit whole, since a message field must stay valid UTF-8.
std::string Bounded(absl::string_view text) {
  if (text.size() <= kMaxTextBytes) {
    return std::string(text);
  }
  size_t end = kMaxTextBytes - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "...");
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) {
    return grpc::Status::OK;
  }
  const auto code = static_cast<grpc::StatusCode>(status.code());
  if (status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown) {
    const std::string number = RandomId().substr(0, 8);
    spdlog::error("failure {}: {}", number, status.ToString());
    return grpc::Status(
        code, absl::StrCat("something went wrong in the server; its log has the details under failure ", number));
  }
  const absl::optional<absl::Cord> field = status.GetPayload(kFieldPayloadKey);
  if (!field.has_value()) {
    return grpc::Status(code, Bounded(status.message()));
  }
  v1::Failure failure;
  failure.set_field(Bounded(std::string(*field)));
  failure.set_message(Bounded(status.message()));
  return grpc::Status(code, Bounded(absl::StrCat(failure.field(), ": ", failure.message())),
                      failure.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) {
    return absl::OkStatus();
  }
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  v1::Failure failure;
  if (status.error_details().empty() || !failure.ParseFromString(status.error_details()) || failure.field().empty()) {
    return absl::Status(code, status.error_message());
  }
  absl::Status result(code, failure.message());
  result.SetPayload(kFieldPayloadKey, absl::Cord(failure.field()));
  return result;
}

}  // namespace stepcurve
