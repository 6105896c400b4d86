// SPDX-License-Identifier: Apache-2.0
#include "proto/channel/dial.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "proto/channel/grpc_status.h"
#include "proto/support/clock.h"

namespace stepcurve {
namespace {

constexpr absl::string_view kLocalhost = "localhost:";

absl::Status NobodyAnswers(absl::string_view server, absl::string_view why) {
  return absl::UnavailableError(absl::StrCat("no stepcurve-server answers at ", server, why.empty() ? "" : ": ", why));
}

// The innermost reason in gRPC's text of a connection that could not be made, "Connection refused" in "failed to
// connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection
// refused". Nothing where the text is of something else.
absl::optional<absl::string_view> WhyNotConnected(absl::string_view text) {
  if (absl::StrContains(text, "DNS resolution failed") || absl::StrContains(text, "name resolution")) {
    return text;
  }
  if (!absl::StartsWith(text, "failed to connect to all addresses") &&
      !absl::StartsWith(text, "connections to all backends failing")) {
    return absl::nullopt;
  }
  for (absl::string_view before : {"Failed to connect to remote host: ", "last error: "}) {
    if (const size_t at = text.rfind(before); at != absl::string_view::npos) {
      return text.substr(at + before.size());
    }
  }
  return text;
}

}  // namespace

absl::Status CheckAddress(absl::string_view server) {
  const size_t colon = server.rfind(':');
  const absl::string_view host = server.substr(0, colon == absl::string_view::npos ? 0 : colon);
  int port = 0;
  const bool bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (host.empty() || (absl::StrContains(host, ":") && !bracketed) || absl::StrContains(host, "/") ||
      !absl::SimpleAtoi(server.substr(colon + 1), &port) || port < 1 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("server address is \"", server, "\"; it must be HOST:PORT, as in localhost:7070"));
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> Dial(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(options.keepalive)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(options.max_reconnect_backoff)));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  const std::string target = absl::StartsWith(options.server, kLocalhost)
                                 ? absl::StrCat("ipv4:127.0.0.1:", options.server.substr(kLocalhost.size()))
                                 : options.server;
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status FromGrpc(const grpc::Status& status, absl::string_view server) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const std::string text = status.error_message();
    if (const absl::optional<absl::string_view> why = WhyNotConnected(text)) {
      return NobodyAnswers(server, *why);
    }
  }
  return FromGrpc(status);
}

absl::Status WaitUntilReachable(grpc::Channel& channel, absl::string_view server, absl::Duration timeout) {
  const absl::Time deadline = Clock::System()->Now() + timeout;
  if (channel.WaitForConnected(absl::ToChronoTime(deadline))) {
    return absl::OkStatus();
  }
  return NobodyAnswers(server, absl::StrCat("not reached within ", absl::FormatDuration(timeout)));
}

}  // namespace stepcurve
