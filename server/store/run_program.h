// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stepcurve {

// Whom to run a program as.
struct SystemUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
};

// NOT_FOUND where the system has no such user.
absl::StatusOr<SystemUser> FindSystemUser(const std::string& name);

struct ProgramResult {
  int exit_code = 0;   // 128 and the signal's number where a signal ended it.
  std::string output;  // Both streams.
};

// Runs a program to its end in "/", with an environment of a path and a locale. `user`: null stays who we are; another
// needs root. A program that cannot be executed exits with 127.
absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& arguments, const SystemUser* user);

}  // namespace stepcurve
