// SPDX-License-Identifier: Apache-2.0
#include "server/store/database.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/support/status_macros.h"
#include "server/store/pg_connection.h"
#include "server/store/pqxx_status.h"

namespace stepcurve {
namespace {

// A transaction that deadlocks or cannot be serialized is repeated this often in all.
constexpr int kAttempts = 5;

// libpqxx 6 would reconnect silently, in the middle of what we take for one session. It calls the way to forbid that
// deprecated, as its next release never reconnects.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
void ForbidReactivation(pqxx::connection& connection) { connection.inhibit_reactivation(true); }
#pragma GCC diagnostic pop

absl::StatusOr<std::unique_ptr<pqxx::connection>> Connect(const std::string& conninfo, const std::string& settings) {
  std::unique_ptr<pqxx::connection> connection;
  STEPCURVE_RETURN_IF_ERROR(CatchPqxx([&] {
    connection = std::make_unique<pqxx::connection>(conninfo);
    ForbidReactivation(*connection);
    pqxx::nontransaction(*connection).exec(settings);
    return absl::OkStatus();
  }));
  return connection;
}

// Every ack presumes that what was committed survives a crash.
absl::Status RequireDurable(pqxx::connection& connection) {
  return CatchPqxx([&] {
    const pqxx::result off = pqxx::nontransaction(connection)
                                 .exec(
                                     "SELECT name FROM pg_settings WHERE setting = 'off'"
                                     " AND name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name");
    if (off.empty()) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        off[0][0].c_str(), " is off in this PostgreSQL: what it commits may be lost in a crash; set it to on"));
  });
}

}  // namespace

struct Database::Pool {
  Options options;
  std::string conninfo;  // With defaults filled in.
  std::string settings;

  absl::Mutex mu;
  std::vector<std::unique_ptr<pqxx::connection>> idle ABSL_GUARDED_BY(mu);
  int taken ABSL_GUARDED_BY(mu) = 0;

  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return taken < options.connections; }

  absl::StatusOr<std::unique_ptr<pqxx::connection>> Take() {
    {
      absl::MutexLock lock(&mu);
      if (!mu.AwaitWithTimeout(absl::Condition(this, &Pool::HasRoom), options.wait)) {
        return absl::UnavailableError(absl::StrCat("all ", options.connections,
                                                   " connections to PostgreSQL stayed busy for ",
                                                   absl::FormatDuration(options.wait)));
      }
      ++taken;
      if (!idle.empty()) {
        std::unique_ptr<pqxx::connection> connection = std::move(idle.back());
        idle.pop_back();
        return connection;
      }
    }
    auto connection = stepcurve::Connect(conninfo, settings);
    if (!connection.ok()) {
      absl::MutexLock lock(&mu);
      --taken;
    }
    return connection;
  }

  // Takes a connection back after work that ended with `status`.
  void Return(std::unique_ptr<pqxx::connection> connection, const absl::Status& status) {
    const bool broken = !connection->is_open() || absl::IsUnavailable(status) || absl::IsUnknown(status);
    std::vector<std::unique_ptr<pqxx::connection>> dropped;  // Closed outside the lock.
    absl::MutexLock lock(&mu);
    --taken;
    if (broken) {
      dropped.swap(idle);  // What broke one has most likely broken them all.
      dropped.push_back(std::move(connection));
    } else {
      idle.push_back(std::move(connection));
    }
  }

  // Runs `body` with a Transaction of a pooled connection and commits it.
  template <typename Transaction>
  absl::Status Run(absl::FunctionRef<absl::Status(Transaction&)> body) {
    STEPCURVE_ASSIGN_OR_RETURN(std::unique_ptr<pqxx::connection> connection, Take());
    absl::Status status;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      status = CatchPqxx([&] {
        Transaction transaction(*connection);
        STEPCURVE_RETURN_IF_ERROR(body(transaction));
        transaction.commit();
        return absl::OkStatus();
      });
      if (!absl::IsAborted(status)) {
        break;
      }
    }
    Return(std::move(connection), status);
    return status;
  }
};

Database::Database(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Connect(const Options& options) {
  auto pool = std::make_unique<Pool>();
  pool->options = options;
  STEPCURVE_ASSIGN_OR_RETURN(pool->conninfo, FullConninfo(options.conninfo));
  STEPCURVE_ASSIGN_OR_RETURN(pool->settings, SessionSettings(options.schema));
  STEPCURVE_ASSIGN_OR_RETURN(std::unique_ptr<pqxx::connection> first, pool->Take());
  const absl::Status durable = RequireDurable(*first);
  pool->Return(std::move(first), durable);
  STEPCURVE_RETURN_IF_ERROR(durable);
  return std::unique_ptr<Database>(new Database(std::move(pool)));
}

const Database::Options& Database::options() const { return pool_->options; }

absl::Status Database::Transaction(absl::FunctionRef<absl::Status(pqxx::work&)> body) {
  return pool_->Run<pqxx::work>(body);
}

absl::Status Database::Read(absl::FunctionRef<absl::Status(pqxx::read_transaction&)> body) {
  return pool_->Run<pqxx::read_transaction>(body);
}

}  // namespace stepcurve
