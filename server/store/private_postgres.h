// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/run_program.h"

namespace stepcurve {

// A PostgreSQL cluster of the server's own, under its data directory, on a Unix socket only. Where the server runs as
// root, the cluster is owned and run by the system user postgres, since PostgreSQL refuses root.
//
// A cluster of that directory that still runs (its server was killed) is adopted. Destruction stops it (fast).
class PrivatePostgres final {
 public:
  // Makes the cluster on first use. FAILED_PRECONDITION with the way out: no PostgreSQL binaries, a directory that
  // cannot be entered by the cluster's owner, another program's files in it, another server on it.
  static absl::StatusOr<std::unique_ptr<PrivatePostgres>> Start(const std::string& data_dir);
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  // For Database::Options.
  const std::string& conninfo() const { return conninfo_; }

 private:
  PrivatePostgres() = default;
  const SystemUser* owner() const { return owner_.has_value() ? &*owner_ : nullptr; }

  absl::Status LockDataDir();
  absl::Status CheckOwnerCanEnter() const;
  absl::Status CheckClusterIsOwners() const;
  absl::Status MakeCluster() const;
  absl::Status Adopt();
  absl::Status Launch();
  void SetSocketDir(const std::string& socket_dir);

  std::string data_dir_;  // Absolute.
  std::string cluster_dir_;
  std::string binaries_;
  std::string socket_dir_;  // Short and private, below /tmp; remembered in the cluster's postmaster.pid.
  std::string conninfo_;
  std::optional<SystemUser> owner_;  // Unless it is us.
  int lock_ = -1;
  bool runs_ = false;
};

}  // namespace stepcurve
