// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/server.h"

namespace stepcurve {

struct ServerFlags {
  StepcurveServer::Options server;  // An empty conninfo: a private PostgreSQL.
  std::string data_dir;
  std::string port_file;
};

// What the flags of stepcurve-server say, after absl::ParseCommandLine; `positional` is what it left. INVALID_ARGUMENT
// names the flag.
absl::StatusOr<ServerFlags> ReadServerFlags(const std::vector<std::string>& positional);

// Whether a libpq conninfo, keywords or URI, carries a password, which process lists would show.
bool CarriesPassword(const std::string& conninfo);

}  // namespace stepcurve
