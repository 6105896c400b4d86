// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/ingest/event_queue.h"
#include "server/store/database.h"
#include "server/store/session_store.h"

namespace stepcurve {

// One stepcurve-server: all services on one port, over one database and schema, which it migrates first. Any number may
// share a database. Thread-safe.
class StepcurveServer final {
 public:
  struct Options {
    Database::Options database;  // conninfo and schema; connections is for queries, the rest has its own.
    std::string listen = "127.0.0.1:0";
    std::string name;  // For people: host and process; empty: made up.
    absl::Duration lease = absl::Seconds(60);
    absl::Duration heartbeat = absl::Seconds(15);
    absl::Duration claim_poll = absl::Milliseconds(250);
    RetryCaps caps;
    EventQueue::Options queue;
  };
  // Serving when it returns. INVALID_ARGUMENT or FAILED_PRECONDITION: an option or the database is not fit.
  // UNAVAILABLE: the database is away, or the port is taken.
  static absl::StatusOr<std::unique_ptr<StepcurveServer>> Start(const Options& options);
  ~StepcurveServer();

  int port() const;

  // Tells workers to dial again, makes durable what they have sent as far as `patience` allows, ends all calls.
  // Idempotent.
  void Stop(absl::Duration patience);

 private:
  struct Parts;
  explicit StepcurveServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace stepcurve
