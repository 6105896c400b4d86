// SPDX-License-Identifier: Apache-2.0
#include "server/store/postgres_binaries.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace stepcurve {
namespace {

bool HasPostgres(const std::string& folder) { return access(absl::StrCat(folder, "/initdb").c_str(), X_OK) == 0; }

}  // namespace

absl::StatusOr<std::string> FindPostgresBinaries(const std::string& major) {
  constexpr char kDebian[] = "/usr/lib/postgresql";
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(kDebian, ignored)) {
    const std::string version = entry.path().filename().string();
    int number = 0;
    const bool wanted = major.empty() || version == major;
    if (wanted && absl::SimpleAtoi(version, &number) && number > newest && HasPostgres(entry.path() / "bin")) {
      newest = number;
    }
  }
  if (newest > 0) {
    return absl::StrCat(kDebian, "/", newest, "/bin");
  }
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    if (HasPostgres(std::string(folder))) {
      return std::string(folder);
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "no PostgreSQL ", major, major.empty() ? "" : " ",
      "programs (initdb, pg_ctl) in /usr/lib/postgresql/*/bin or the PATH; install ",
      major.empty() ? "postgresql" : absl::StrCat("postgresql-", major), ", or name a running database by --database"));
}

}  // namespace stepcurve
