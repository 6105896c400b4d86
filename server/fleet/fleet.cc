// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/fleet.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

// Workers come back within this after a server has left, spread so that the next one is not stormed.
constexpr absl::Duration kReconnectWithin = absl::Seconds(1);

// Several a lease, so that a worker's heartbeat and a renewal that fails once still fit into it; and the stamp of the
// service three times within the third of a lease after which servers count as away.
absl::Duration RenewalPeriod(absl::Duration lease) { return lease / 6; }
absl::Duration JanitorPeriod(absl::Duration lease) { return std::min(absl::Seconds(1), lease / 10); }

}  // namespace

Fleet::Fleet(const Options& options)
    : claim_loop_({.claims = options.claims,
                   .sessions = options.claim_sessions,
                   .registry = &registry_,
                   .poll = options.claim_poll}),
      ingest_({.flushers = options.flushers, .after = Consequences(options.sweeps), .queue = options.queue}),
      greeter_({.sessions = options.sessions,
                .claims = options.held,
                .sweeps = options.sweeps,
                .registry = &registry_,
                .ingest = &ingest_,
                .demand_rose = [this] { claim_loop_.Wake(); },
                .server_name = options.server_name,
                .lease = options.lease,
                .heartbeat = options.heartbeat}),
      lease_loop_({.sessions = options.leases, .registry = &registry_, .period = RenewalPeriod(options.lease)}),
      janitor_({.sessions = options.sessions,
                .sweeps = options.sweeps,
                .registry = &registry_,
                .period = JanitorPeriod(options.lease),
                .work_appeared = [this] { claim_loop_.Wake(); },
                .database = options.database}),
      callbacks_({.hello = [this](std::shared_ptr<WorkerStream> stream,
                                  v1::WorkerMessage hello) { greeter_.Greet(std::move(stream), std::move(hello)); },
                  .left = [this](const Session& session) { greeter_.Dismiss(session.id()); },
                  .gone = [this](const Session& session) { registry_.Remove(session); }}),
      service_(&callbacks_) {}

Fleet::~Fleet() { Drain(absl::ZeroDuration()); }

AfterCommit Fleet::Consequences(SweepStore* sweeps) {
  return {.check_sweeps =
              [sweeps](const std::vector<int64_t>& ids) {
                if (const auto ended = sweeps->EndFinished(ids); !ended.ok()) {
                  spdlog::warn("sweeps to end wait for the janitor: {}", ended.status().ToString());
                }
              },
          .drain_sessions =
              [this](const std::vector<int64_t>& ids) {
                for (const int64_t id : ids) {
                  if (const std::shared_ptr<Session> session = registry_.Find(id)) {
                    spdlog::warn("session {} ({}) fails trials before their first step: it gets no more", id,
                                 session->claim().worker_name);
                    session->DrainWorker();
                  }
                }
              },
          .work_appeared = [this] { claim_loop_.Wake(); }};
}

void Fleet::Drain(absl::Duration patience) {
  claim_loop_.Stop();
  greeter_.Stop();
  registry_.CloseForNew();
  absl::BitGen random;
  for (const std::shared_ptr<Session>& session : registry_.All()) {
    session->Reconnect(kReconnectWithin * absl::Uniform(random, 0.0, 1.0));
  }
  ingest_.Drain(patience);
  lease_loop_.Stop();
  janitor_.Stop();
  for (const std::shared_ptr<Session>& session : registry_.All()) {
    session->Close(absl::UnavailableError("this server is going away"));
  }
}

}  // namespace stepcurve
