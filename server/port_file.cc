// SPDX-License-Identifier: Apache-2.0
#include "server/port_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace stepcurve {

absl::Status WritePortFile(const std::string& path, int port) {
  const std::string part = absl::StrCat(path, ".", getpid());
  std::ofstream out(part);
  out << port << '\n';
  out.close();
  if (!out || std::rename(part.c_str(), path.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    std::remove(part.c_str());
    return absl::InvalidArgumentError(absl::StrCat("--port_file is ", path, ", which cannot be written: ", why));
  }
  return absl::OkStatus();
}

}  // namespace stepcurve
