// SPDX-License-Identifier: Apache-2.0
#include "worker/data/idx_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

constexpr uint32_t kUnsignedBytes = 0x800;  // Third byte of the magic number.
constexpr size_t kReadBytes = 1 << 20;

// The whole content, decompressed where it is compressed, but never more than `limit` bytes.
absl::StatusOr<std::string> ReadAll(const std::string& path, size_t limit) {
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (file == nullptr) {
    if (errno == ENOENT) return absl::NotFoundError(absl::StrCat(path, ": no such file"));
    return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(errno)));
  }
  std::string content;
  while (content.size() < limit) {
    const size_t before = content.size();
    content.resize(std::min(limit, before + kReadBytes));
    const int got = gzread(file.get(), content.data() + before, static_cast<unsigned>(content.size() - before));
    content.resize(before + static_cast<size_t>(std::max(got, 0)));
    if (got <= 0) break;
  }
  int code = Z_OK;
  const char* text = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": cannot be read after ", content.size(),
                                                      " bytes: ", code == Z_ERRNO ? "" : text,
                                                      code == Z_ERRNO ? std::strerror(errno) : ""));
  }
  return content;
}

uint32_t BigEndian(absl::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

}  // namespace

absl::StatusOr<std::string> ReadIdxFile(const std::string& path, const std::vector<int64_t>& expected) {
  const size_t header_bytes = 4 * (1 + expected.size());
  size_t payload_bytes = 1;
  for (const int64_t size : expected) {
    payload_bytes *= static_cast<size_t>(size);
  }
  // One byte more than there should be, so that a longer file shows.
  STEPCURVE_ASSIGN_OR_RETURN(std::string content, ReadAll(path, header_bytes + payload_bytes + 1));
  if (content.size() < header_bytes) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": has ", content.size(), " bytes; expected a header of ",
                                                      header_bytes, " and ", payload_bytes, " bytes of data"));
  }
  const uint32_t magic = BigEndian(content, 0);
  const uint32_t expected_magic = kUnsignedBytes | static_cast<uint32_t>(expected.size());
  if (magic != expected_magic) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: magic number is 0x%08x; expected 0x%08x (unsigned bytes in %d dimension%s)", path, magic,
                        expected_magic, expected.size(), expected.size() == 1 ? "" : "s"));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const uint32_t size = BigEndian(content, 4 * (1 + i));
    if (size != static_cast<uint64_t>(expected[i])) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: size of dimension %d is %d; expected %d", path, i + 1, size, expected[i]));
    }
  }
  if (content.size() != header_bytes + payload_bytes) {
    const size_t got = content.size() - header_bytes;
    return absl::FailedPreconditionError(absl::StrFormat("%s: has %s%d bytes of data; expected %d", path,
                                                         got > payload_bytes ? "at least " : "", got, payload_bytes));
  }
  content.erase(0, header_bytes);
  return content;
}

}  // namespace stepcurve
