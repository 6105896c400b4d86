// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/server.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"
#include "tests/server/fleet/scripted_worker.h"
#include "tests/support/postgres.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {

// A whole server in this process, on a schema of the test's own, with leases of seconds.
class ServerTest : public PostgresTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // One more server on the same database.
  std::unique_ptr<StepcurveServer> StartServer();
  int port() const { return server_->port(); }

  // A sweep of quadratic trials of 100 steps, one batch size. Its id.
  int64_t Submit(const std::string& name, int64_t trials);
  void Cancel(const std::string& name);

  // Whether the statement's only value comes to be `value` within kGenerous.
  bool Comes(const std::string& statement, const std::string& value);

  StepcurveServer::Options server_options_;
  std::unique_ptr<StepcurveServer> server_;
};

}  // namespace stepcurve
