// SPDX-License-Identifier: Apache-2.0
#include "server/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace stepcurve {
namespace {

absl::Status Wrong(absl::string_view address, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("--listen is \"", address, "\": ", why,
                                                 "; it must be HOST:PORT, as in 127.0.0.1:7070 or [::]:7070"));
}

absl::Status TryToBind(const addrinfo& info, const std::string& address) {
  const int fd = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return Wrong(address, std::strerror(errno));
  }
  const int yes = 1;  // As gRPC does: connections of an earlier server that linger are no hindrance.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool bound = bind(fd, info.ai_addr, info.ai_addrlen) == 0 && listen(fd, 1) == 0;
  const int failure = errno;
  close(fd);
  if (bound) {
    return absl::OkStatus();
  }
  if (failure == EADDRINUSE) {
    return absl::UnavailableError(
        absl::StrCat("--listen is ", address, ", and another program listens there; stop it, or choose another port"));
  }
  return Wrong(address, std::strerror(failure));
}

}  // namespace

absl::Status CheckListenAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return Wrong(address, "no host and port");
  }
  absl::string_view host(address.data(), colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (!bracketed && absl::StrContains(host, ":")) {
    return Wrong(address, "an IPv6 address stands in brackets");
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(std::string(host).c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (failure != 0) {
    return Wrong(address, gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  return TryToBind(*found, address);
}

}  // namespace stepcurve
