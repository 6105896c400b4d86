// SPDX-License-Identifier: Apache-2.0
#include "proto/channel/random_id.h"

#include <sys/random.h>

#include <cstdlib>

#include "absl/strings/escaping.h"

namespace stepcurve {

std::string RandomId() {
  std::string bytes(16, '\0');
  // Up to 256 bytes come whole or not at all, and fail only where the kernel has no such call.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return absl::BytesToHexString(bytes);
}

}  // namespace stepcurve
