// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/janitor.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "proto/support/clock.h"
#include "proto/support/status_macros.h"
#include "spdlog/spdlog.h"

namespace stepcurve {
namespace {

constexpr int kTrialsPerRelease = 1000;
// A pass must come back to the stamp, whatever there is to do; the next one goes on.
constexpr int kSlicesPerPass = 20;
// The flushers check the sweeps whose trials end. This finds what they missed.
constexpr absl::Duration kEndSweepsEvery = absl::Seconds(10);

}  // namespace

Janitor::Janitor(const Options& options) : options_(options), thread_([this] { return Run(); }) {}

absl::Duration Janitor::Run() {
  const absl::Status stamped = options_.sessions->StampService();
  options_.database(stamped.ok());
  const absl::Status status = stamped.ok() ? DoRounds() : stamped;
  if (!status.ok() && !failing_) {
    spdlog::warn("janitor: {}", status.ToString());
  } else if (status.ok() && failing_) {
    spdlog::info("janitor: the database answers again");
  }
  failing_ = !status.ok();
  return options_.period;
}

// One round that fails does not keep the others from being done.
absl::Status Janitor::DoRounds() {
  absl::Status first = EndSessions();
  first.Update(ReleaseTrials());
  first.Update(TellOfCancelledSweeps());
  first.Update(TurnCancelledTrials());
  first.Update(EndSweeps());
  return first;
}

absl::Status Janitor::EndSessions() {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> expired, options_.sessions->EndExpired());
  for (const int64_t id : expired) {
    spdlog::info("session {}: its lease is past", id);
    if (const std::shared_ptr<Session> session = options_.registry->Find(id)) {
      session->End("its lease is past");
    }
  }
  return absl::OkStatus();
}

absl::Status Janitor::ReleaseTrials() {
  for (int slice = 0; slice < kSlicesPerPass; ++slice) {
    STEPCURVE_ASSIGN_OR_RETURN(const SessionStore::ReleaseResult result,
                               options_.sessions->ReleaseEnded(kTrialsPerRelease));
    if (!result.sweeps_to_check.empty()) {
      STEPCURVE_RETURN_IF_ERROR(options_.sweeps->EndFinished(result.sweeps_to_check).status());
    }
    options_.work_appeared();
    if (!result.more) {
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Janitor::TellOfCancelledSweeps() {
  const std::vector<std::shared_ptr<Session>> sessions = options_.registry->All();
  std::set<int64_t> sweeps;
  for (const std::shared_ptr<Session>& session : sessions) {
    const std::vector<int64_t> of_session = session->Sweeps();
    sweeps.insert(of_session.begin(), of_session.end());
  }
  if (sweeps.empty()) {
    return absl::OkStatus();
  }
  STEPCURVE_ASSIGN_OR_RETURN(const auto states, options_.sweeps->States({sweeps.begin(), sweeps.end()}));
  for (const auto& [sweep, state] : states) {
    if (state == SweepState::kCancelled) {
      for (const std::shared_ptr<Session>& session : sessions) {
        session->EndSweep(sweep, TrialState::kCancelled, "the sweep was cancelled");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Janitor::TurnCancelledTrials() {
  for (int slice = 0; slice < kSlicesPerPass; ++slice) {
    STEPCURVE_ASSIGN_OR_RETURN(const bool more, options_.sweeps->CancelSlice());
    if (!more) {
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status Janitor::EndSweeps() {
  const absl::Time now = Clock::System()->Now();
  if (now - last_end_sweeps_ < kEndSweepsEvery) {
    return absl::OkStatus();
  }
  STEPCURVE_RETURN_IF_ERROR(options_.sweeps->EndFinished().status());
  last_end_sweeps_ = now;
  return absl::OkStatus();
}

}  // namespace stepcurve
