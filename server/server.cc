// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/channel/dial.h"
#include "proto/support/clock.h"
#include "proto/support/status_macros.h"
#include "server/api/curve_service.h"
#include "server/api/sweep_service.h"
#include "server/fleet/fleet.h"
#include "server/listen_address.h"
#include "server/store/claim_store.h"
#include "server/store/curve_store.h"
#include "server/store/flush_store.h"
#include "server/store/migrate.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

constexpr int kFlushers = 2;  // More do not pay: PostgreSQL's own work is the limit.
constexpr absl::Duration kEndCallsWithin = absl::Seconds(2);

std::string MadeUpName() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", getpid());
}

// What gRPC's health service says of the whole server. Thread-safe.
class Health final {
 public:
  void Bind(grpc::HealthCheckServiceInterface* service) {
    absl::MutexLock lock(&mu_);
    service_ = service;
    Tell();
  }
  void Set(bool database_answers) {
    absl::MutexLock lock(&mu_);
    if (answers_ != database_answers) {
      answers_ = database_answers;
      spdlog::log(answers_ ? spdlog::level::info : spdlog::level::warn, "the database {}",
                  answers_ ? "answers: serving" : "is away: not serving");
      Tell();
    }
  }

 private:
  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (service_ != nullptr) {
      service_->SetServingStatus(answers_);
    }
  }
  absl::Mutex mu_;
  grpc::HealthCheckServiceInterface* service_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool answers_ ABSL_GUARDED_BY(mu_) = true;
};

}  // namespace

// In order of birth.
struct StepcurveServer::Parts {
  std::unique_ptr<Database> queries, fleet, claims, leases;
  std::vector<std::unique_ptr<FlushStore>> flushes;
  std::unique_ptr<SweepStore> query_sweeps, fleet_sweeps;
  std::unique_ptr<SessionStore> query_sessions, fleet_sessions, claim_sessions, lease_sessions;
  std::unique_ptr<ClaimStore> fleet_claims, claim_claims;
  std::unique_ptr<TrialStore> trials;
  std::unique_ptr<CurveStore> curves;
  Health health;
  std::unique_ptr<Fleet> workers;
  std::unique_ptr<SweepServiceImpl> sweep_service;
  std::unique_ptr<CurveServiceImpl> curve_service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;

  absl::Status Connect(const Options& options);
  void MakeStores(const Options& options);
  void MakeServices(const Options& options);
  absl::Status Listen(const std::string& address);
};

absl::Status StepcurveServer::Parts::Connect(const Options& options) {
  const auto connect = [&](int connections) {
    Database::Options database = options.database;
    database.connections = connections;
    return Database::Connect(database);
  };
  STEPCURVE_ASSIGN_OR_RETURN(queries, connect(options.database.connections));
  STEPCURVE_RETURN_IF_ERROR(Migrate(*queries));
  STEPCURVE_ASSIGN_OR_RETURN(fleet, connect(3));  // Two greeters and the janitor.
  STEPCURVE_ASSIGN_OR_RETURN(claims, connect(1));
  STEPCURVE_ASSIGN_OR_RETURN(leases, connect(1));
  for (int i = 0; i < kFlushers; ++i) {
    STEPCURVE_ASSIGN_OR_RETURN(flushes.emplace_back(),
                               FlushStore::Open({.database = options.database, .caps = options.caps}));
  }
  return absl::OkStatus();
}

void StepcurveServer::Parts::MakeStores(const Options& options) {
  const auto sessions = [&](Database* database) {
    return std::make_unique<SessionStore>(
        SessionStore::Options{.database = database, .lease = options.lease, .caps = options.caps});
  };
  query_sessions = sessions(queries.get());
  fleet_sessions = sessions(fleet.get());
  claim_sessions = sessions(claims.get());
  lease_sessions = sessions(leases.get());
  query_sweeps = std::make_unique<SweepStore>(queries.get());
  fleet_sweeps = std::make_unique<SweepStore>(fleet.get());
  fleet_claims = std::make_unique<ClaimStore>(fleet.get());
  claim_claims = std::make_unique<ClaimStore>(claims.get());
  trials = std::make_unique<TrialStore>(queries.get());
  curves = std::make_unique<CurveStore>(queries.get());
}

void StepcurveServer::Parts::MakeServices(const Options& options) {
  Fleet::Options fleet_options;
  fleet_options.leases = lease_sessions.get();
  fleet_options.claims = claim_claims.get();
  fleet_options.claim_sessions = claim_sessions.get();
  fleet_options.sessions = fleet_sessions.get();
  fleet_options.held = fleet_claims.get();
  fleet_options.sweeps = fleet_sweeps.get();
  for (const std::unique_ptr<FlushStore>& flush : flushes) {
    fleet_options.flushers.push_back(
        [store = flush.get()](const std::vector<AttemptEvents>& batch) { return store->Flush(batch); });
  }
  fleet_options.server_name = options.name.empty() ? MadeUpName() : options.name;
  fleet_options.lease = options.lease;
  fleet_options.heartbeat = options.heartbeat;
  fleet_options.claim_poll = options.claim_poll;
  fleet_options.queue = options.queue;
  fleet_options.database = [this](bool answers) { health.Set(answers); };
  workers = std::make_unique<Fleet>(fleet_options);
  sweep_service = std::make_unique<SweepServiceImpl>(SweepServiceImpl::Options{.sweeps = query_sweeps.get(),
                                                                               .trials = trials.get(),
                                                                               .sessions = query_sessions.get(),
                                                                               .curves = curves.get(),
                                                                               .clock = Clock::System()});
  curve_service = std::make_unique<CurveServiceImpl>(curves.get());
}

absl::Status StepcurveServer::Parts::Listen(const std::string& address) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(workers->service());
  builder.RegisterService(sweep_service.get());
  builder.RegisterService(curve_service.get());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  // Two servers on one port would share its calls without a word.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen at ", address, "; another program may have taken the port"));
  }
  health.Bind(server->GetHealthCheckService());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StepcurveServer>> StepcurveServer::Start(const Options& options) {
  STEPCURVE_RETURN_IF_ERROR(CheckListenAddress(options.listen));
  auto parts = std::make_unique<Parts>();
  if (const absl::Status status = parts->Connect(options); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("cannot use the database: ", status.message()));
  }
  parts->MakeStores(options);
  parts->MakeServices(options);
  STEPCURVE_RETURN_IF_ERROR(parts->Listen(options.listen));
  return std::unique_ptr<StepcurveServer>(new StepcurveServer(std::move(parts)));
}

StepcurveServer::StepcurveServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

StepcurveServer::~StepcurveServer() { Stop(absl::ZeroDuration()); }

int StepcurveServer::port() const { return parts_->port; }

void StepcurveServer::Stop(absl::Duration patience) {
  if (parts_->server == nullptr) {
    return;
  }
  parts_->server->GetHealthCheckService()->SetServingStatus(false);
  parts_->workers->Drain(patience);
  parts_->health.Bind(nullptr);
  parts_->server->Shutdown(absl::ToChronoTime(Clock::System()->Now() + kEndCallsWithin));
  parts_->server->Wait();
  parts_->server.reset();
}

}  // namespace stepcurve
