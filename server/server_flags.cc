// SPDX-License-Identifier: Apache-2.0
#include "server/server_flags.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "proto/support/status_macros.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:7070", "HOST:PORT to serve at; port 0 takes any that is free.");
ABSL_FLAG(std::string, port_file, "", "File to write the port to, once the server serves.");
ABSL_FLAG(std::string, data_dir, "",
          "Directory of the private PostgreSQL, when there is no --database; empty: stepcurve under $XDG_DATA_HOME or "
          "~/.local/share.");
ABSL_FLAG(std::string, database, "",
          "PostgreSQL 15 to keep everything in, as libpq's conninfo or URI, without a password.");
ABSL_FLAG(std::string, schema, "public", "Schema of the database; made if it is missing.");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(60), "A worker that is not heard of for so long loses its trials.");
ABSL_FLAG(absl::Duration, heartbeat, absl::Seconds(15), "How often a silent worker says that it lives.");
ABSL_FLAG(int32_t, crash_cap, 3, "A trial whose own process fails so often is FAILED.");
ABSL_FLAG(int32_t, loss_cap, 20, "A trial that had started when its worker was lost so often is FAILED.");

namespace stepcurve {
namespace {

absl::StatusOr<std::string> DefaultDataDir() {
  for (const auto& [variable, rest] : {std::pair("XDG_DATA_HOME", "/stepcurve"), {"HOME", "/.local/share/stepcurve"}}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && value[0] == '/') {
      return absl::StrCat(value, rest);
    }
  }
  return absl::InvalidArgumentError(
      "neither --data_dir nor --database is given, and neither XDG_DATA_HOME nor HOME is set");
}

absl::Status CheckTimes(absl::Duration lease, absl::Duration heartbeat) {
  if (lease < absl::Seconds(1) || lease > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lease is ", absl::FormatDuration(lease), "; it must be 1s to 24h"));
  }
  if (heartbeat < absl::Milliseconds(100) || heartbeat > lease / 3) {
    return absl::InvalidArgumentError(absl::StrCat("--heartbeat is ", absl::FormatDuration(heartbeat),
                                                   "; it must be 100ms to a third of --lease, which is ",
                                                   absl::FormatDuration(lease)));
  }
  return absl::OkStatus();
}

absl::Status CheckCap(absl::string_view flag, int32_t cap) {
  if (cap < 1 || cap > 1000) {
    return absl::InvalidArgumentError(absl::StrCat("--", flag, " is ", cap, "; it must be 1 to 1000"));
  }
  return absl::OkStatus();
}

absl::Status CheckSchema(absl::string_view schema) {
  const bool plain = !schema.empty() && schema.size() <= 63 && !absl::ascii_isdigit(schema[0]) &&
                     schema.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == absl::string_view::npos;
  if (!plain) {
    return absl::InvalidArgumentError(
        absl::StrCat("--schema is \"", schema, "\"; it must be 1 to 63 of a-z, 0-9 and _, not starting with a digit"));
  }
  return absl::OkStatus();
}

}  // namespace

bool CarriesPassword(const std::string& conninfo) {
  const size_t scheme = conninfo.find("://");
  if (absl::StartsWith(conninfo, "postgres") && scheme != std::string::npos) {
    const std::string authority = conninfo.substr(scheme + 3, conninfo.find_first_of("/?", scheme + 3) - scheme - 3);
    const size_t at = authority.rfind('@');
    if (at != std::string::npos && authority.find(':') < at) {
      return true;
    }
  }
  // "password=", "password =", "sslpassword=": keyword or URI parameter alike.
  for (size_t at = conninfo.find("password"); at != std::string::npos; at = conninfo.find("password", at + 1)) {
    const size_t next = conninfo.find_first_not_of(" \t", at + 8);
    if (next != std::string::npos && conninfo[next] == '=') {
      return true;
    }
  }
  return false;
}

absl::StatusOr<ServerFlags> ReadServerFlags(const std::vector<std::string>& positional) {
  if (!positional.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", positional[0], "\" is not a flag; see stepcurve-server --help"));
  }
  ServerFlags flags;
  flags.port_file = absl::GetFlag(FLAGS_port_file);
  flags.data_dir = absl::GetFlag(FLAGS_data_dir);
  StepcurveServer::Options& server = flags.server;
  server.listen = absl::GetFlag(FLAGS_listen);
  server.database.conninfo = absl::GetFlag(FLAGS_database);
  server.database.schema = absl::GetFlag(FLAGS_schema);
  server.lease = absl::GetFlag(FLAGS_lease);
  server.heartbeat = absl::GetFlag(FLAGS_heartbeat);
  server.caps.crashes = absl::GetFlag(FLAGS_crash_cap);
  server.caps.losses = absl::GetFlag(FLAGS_loss_cap);
  STEPCURVE_RETURN_IF_ERROR(CheckTimes(server.lease, server.heartbeat));
  STEPCURVE_RETURN_IF_ERROR(CheckCap("crash_cap", server.caps.crashes));
  STEPCURVE_RETURN_IF_ERROR(CheckCap("loss_cap", server.caps.losses));
  STEPCURVE_RETURN_IF_ERROR(CheckSchema(server.database.schema));
  if (!server.database.conninfo.empty()) {
    if (!flags.data_dir.empty()) {
      return absl::InvalidArgumentError("--database and --data_dir are both given; give one: where all state is kept");
    }
    if (CarriesPassword(server.database.conninfo)) {
      return absl::InvalidArgumentError(
          "--database carries a password, which every user of this machine can see; put it into ~/.pgpass or the file "
          "that "
          "PGPASSFILE names");
    }
  } else if (flags.data_dir.empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(flags.data_dir, DefaultDataDir());
  }
  return flags;
}

}  // namespace stepcurve
