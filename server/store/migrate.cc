// SPDX-License-Identifier: Apache-2.0
#include "server/store/migrate.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "proto/support/status_macros.h"
#include "server/store/migrations.h"
#include "spdlog/spdlog.h"

#include <pqxx/pqxx>

namespace stepcurve {
namespace {

// Held to the end of the transaction: of servers that race, one migrates and the others find it done.
void Lock(pqxx::work& work, const std::string& schema) {
  work.exec_params("SELECT pg_advisory_xact_lock(hashtextextended('stepcurve schema ' || $1, 0))", schema);
}

// "-- min_server: N" in the first lines: the oldest server that works on the schema; this migration's own otherwise.
int MinServer(const Migration& migration) {
  constexpr absl::string_view kKey = "-- min_server: ";
  const absl::string_view text = migration.up;
  const size_t at = text.find(kKey);
  int version = migration.version;
  if (at != absl::string_view::npos) {
    const absl::string_view rest = text.substr(at + kKey.size());
    if (!absl::SimpleAtoi(rest.substr(0, rest.find('\n')), &version)) {
      return migration.version;
    }
  }
  return version;
}

struct Standing {
  int version = 0;
  int min_server = 0;
};

Standing Read(pqxx::work& work) {
  const pqxx::result newest = work.exec("SELECT version, min_server FROM schema_version ORDER BY version DESC LIMIT 1");
  if (newest.empty()) {
    return {};
  }
  return {newest[0][0].as<int>(), newest[0][1].as<int>()};
}

// One step of Migrate; true when there was nothing left to do.
absl::StatusOr<bool> MigrateOne(pqxx::work& work, const std::string& schema) {
  Lock(work, schema);
  // Asked first, since IF NOT EXISTS wants the right to create even where there is nothing to create.
  if (work.exec_params1("SELECT to_regnamespace($1) IS NULL", schema)[0].as<bool>()) {
    work.exec(absl::StrCat("CREATE SCHEMA ", schema));
  }
  if (work.exec1("SELECT to_regclass('schema_version') IS NULL")[0].as<bool>()) {
    work.exec(
        "CREATE TABLE schema_version (version integer PRIMARY KEY, min_server integer NOT NULL,"
        " applied_at timestamptz NOT NULL DEFAULT now())");
  }
  const Standing standing = Read(work);
  if (standing.version > LatestSchemaVersion() && standing.min_server > LatestSchemaVersion()) {
    return absl::FailedPreconditionError(
        absl::StrCat("schema ", schema, " has version ", standing.version, ", which needs a server that knows version ",
                     standing.min_server, "; this one knows ", LatestSchemaVersion(), ": start a newer server"));
  }
  if (standing.version >= LatestSchemaVersion()) {
    return true;
  }
  const Migration& next = Migrations()[standing.version];
  work.exec(next.up);
  work.exec_params("INSERT INTO schema_version (version, min_server) VALUES ($1, $2)", next.version, MinServer(next));
  spdlog::info("migrated schema {} to version {} ({})", schema, next.version, next.name);
  return next.version == LatestSchemaVersion();
}

}  // namespace

int LatestSchemaVersion() { return static_cast<int>(Migrations().size()); }

absl::Status Migrate(Database& database) {
  for (bool done = false; !done;) {
    STEPCURVE_RETURN_IF_ERROR(database.Transaction([&](pqxx::work& work) -> absl::Status {
      STEPCURVE_ASSIGN_OR_RETURN(done, MigrateOne(work, database.options().schema));
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

absl::Status MigrateDown(Database& database) {
  return database.Transaction([&](pqxx::work& work) -> absl::Status {
    Lock(work, database.options().schema);
    const int version = Read(work).version;
    if (version < 1 || version > LatestSchemaVersion()) {
      return absl::FailedPreconditionError(absl::StrCat("schema ", database.options().schema, " has version ", version,
                                                        ", which this build cannot take back"));
    }
    work.exec(Migrations()[version - 1].down);
    work.exec_params("DELETE FROM schema_version WHERE version = $1", version);
    return absl::OkStatus();
  });
}

}  // namespace stepcurve
