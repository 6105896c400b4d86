// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "worker/run/frames.h"

namespace stepcurve {
namespace {

constexpr uint32_t kMaxFrameBytes = 64 << 20;

// Reads until `buffer` is full; returns how much there was before the stream ended.
absl::StatusOr<size_t> ReadFully(int fd, char* buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = recv(fd, buffer + done, size - done, 0);
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(absl::StrCat("reading a frame: ", std::strerror(errno)));
    }
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

absl::Status WriteFrame(int fd, const Frame& frame) {
  const std::string bytes = Encode(frame);
  size_t done = 0;
  while (done < bytes.size()) {
    // Without SIGPIPE, which would end the process that outlived its peer.
    const ssize_t sent = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(absl::StrCat("writing a frame: ", std::strerror(errno)));
    }
    done += static_cast<size_t>(sent);
  }
  return absl::OkStatus();
}

absl::StatusOr<Frame> ReadFrame(int fd) {
  unsigned char head[4];
  STEPCURVE_ASSIGN_OR_RETURN(const size_t head_bytes, ReadFully(fd, reinterpret_cast<char*>(head), sizeof(head)));
  if (head_bytes == 0) return absl::OutOfRangeError("end of stream");
  if (head_bytes < sizeof(head)) return absl::UnavailableError("stream ended inside a frame's length");
  const uint32_t size = head[0] | head[1] << 8 | head[2] << 16 | static_cast<uint32_t>(head[3]) << 24;
  if (size > kMaxFrameBytes) {
    return absl::DataLossError(absl::StrCat("frame of ", size, " bytes; at most ", kMaxFrameBytes));
  }
  std::string body(size, '\0');
  STEPCURVE_ASSIGN_OR_RETURN(const size_t body_bytes, ReadFully(fd, body.data(), size));
  if (body_bytes < size) {
    return absl::UnavailableError(absl::StrCat("stream ended after ", body_bytes, " of ", size, " bytes of a frame"));
  }
  return Decode(body);
}

}  // namespace stepcurve
