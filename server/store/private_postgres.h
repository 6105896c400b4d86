// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace stepcurve {

// A PostgreSQL cluster of the server's own, under its data directory, on a Unix socket only. Where the server runs as root, the
// cluster is owned and run by the system user postgres, since PostgreSQL refuses root.
//
// A cluster of that directory that still runs (its server was killed) is adopted. Destruction stops it (fast).
class PrivatePostgres final {
 public:
  // Makes the cluster on first use. FAILED_PRECONDITION with the way out: no PostgreSQL binaries, a directory that cannot be
  // entered by the cluster's owner, another program's files in it.
  static absl::StatusOr<std::unique_ptr<PrivatePostgres>> Start(const std::string& data_dir);
  ~PrivatePostgres();

  // For Database::Options.
  const std::string& conninfo() const { return conninfo_; }

 private:
  PrivatePostgres(std::string cluster_dir, std::string conninfo);
  std::string cluster_dir_;
  std::string conninfo_;
};

}  // namespace stepcurve
