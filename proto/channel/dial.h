// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stepcurve {

// Longest message either side takes.
inline constexpr int kMaxMessageBytes = 32 << 20;

struct ChannelOptions {
  std::string server;  // HOST:PORT, as CheckAddress accepts it.
  absl::Duration keepalive = absl::Seconds(30);
  absl::Duration max_reconnect_backoff = absl::Seconds(10);
};

// INVALID_ARGUMENT, naming the address, unless it is HOST:PORT, HOST a name, an IPv4 address or an IPv6 address in
// brackets.
absl::Status CheckAddress(absl::string_view server);

// A channel to a server, without TLS; connects by itself with the first call, and again when the connection is lost.
// Neither HTTP proxies of the environment nor service configurations in DNS are looked at, and "localhost" is
// 127.0.0.1.
std::shared_ptr<grpc::Channel> Dial(const ChannelOptions& options);

// FromGrpc for calls made on a channel to `server`: where nothing answered there, the UNAVAILABLE says so in words,
// "no stepcurve-server answers at HOST:PORT: Connection refused". What a server answered is left as it is.
absl::Status FromGrpc(const grpc::Status& status, absl::string_view server);

// OK once the server can be reached, UNAVAILABLE as above after `timeout`.
absl::Status WaitUntilReachable(grpc::Channel& channel, absl::string_view server, absl::Duration timeout);

}  // namespace stepcurve
