// SPDX-License-Identifier: Apache-2.0
//
// The agent's other side: slots, runners and what they report.
#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/agent/agent.h"
#include "worker/agent/assignment.h"
#include "worker/quadratic/run_quadratic.h"

namespace stepcurve {
namespace {

bool IsQuadratic(const TrialRun& run) { return run.workload.dataset == kQuadraticDataset; }
bool NeedsTrainer(const TrialRun& run) { return !IsQuadratic(run); }

}  // namespace

bool Agent::CanRun(int slot_class, const TrialRun& run) const {
  if (IsQuadratic(run)) return true;
  const auto index = static_cast<size_t>(slot_class);
  return index < trainers_.size() && trainers_[index].state == Trainer::State::kReady;
}

void Agent::Dispatch() {
  struct Launch {
    SlotId slot;
    TrialRun run;
    bool in_trainer = false;
    int64_t incarnation = 0;
  };
  std::vector<Launch> launches;
  {
    absl::MutexLock lock(&mu_);
    for (int slot_class = 0; slot_class < static_cast<int>(options_.devices.size()); ++slot_class) {
      const auto can_run = [&](const TrialRun& run)
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return CanRun(slot_class, run); };
      while (const auto slot = slots_.FindFree(slot_class)) {
        std::optional<Ledger::Task> task = ledger_.Begin(slot_class, can_run, Now());
        if (!task.has_value()) break;
        const bool in_trainer = NeedsTrainer(task->run);
        slots_.Occupy(*slot, {.key = {task->run.trial, task->run.attempt},
                              .in_trainer = in_trainer,
                              .patience = task->patience,
                              .last_news = Now()});
        const int64_t incarnation = in_trainer ? trainers_[static_cast<size_t>(slot_class)].incarnation : 0;
        launches.push_back({*slot, std::move(task->run), in_trainer, incarnation});
      }
    }
    wake_ = wake_ || !launches.empty();
  }
  for (Launch& launch : launches) {
    const auto index = static_cast<size_t>(launch.slot.slot_class);
    const AttemptKey key{launch.run.trial, launch.run.attempt};
    if (launch.in_trainer) {
      processes_[index]->Run(launch.incarnation, launch.slot.slot, launch.run);
    } else {
      quadratics_[index]->Run(launch.slot.slot, std::move(launch.run));
    }
    Stops stops;
    {
      // Told to stop before it ran, it was not there to hear it.
      absl::MutexLock lock(&mu_);
      const SlotTable::Occupant* occupant = slots_.Find(launch.slot);
      if (occupant != nullptr && occupant->key == key && occupant->stopping) StopSlot(launch.slot, stops);
    }
    Perform(stops);
  }
}

void Agent::StopSlot(SlotId slot, Stops& stops) {
  SlotTable::Occupant* occupant = slots_.Find(slot);
  occupant->stopping = true;
  stops.emplace_back(slot, occupant->in_trainer);
}

void Agent::Perform(const Stops& stops) {
  for (const auto& [slot, in_trainer] : stops) {
    const auto index = static_cast<size_t>(slot.slot_class);
    if (in_trainer) {
      processes_[index]->Stop(slot.slot);
    } else {
      quadratics_[index]->Stop(slot.slot);
    }
  }
}

void Agent::Measured(SlotId slot, int64_t step, const std::vector<double>& values, double train_seconds,
                     double eval_seconds) {
  absl::MutexLock lock(&mu_);
  const absl::Time now = Now();
  const SlotTable::Occupant* occupant = slots_.Find(slot);
  if (occupant == nullptr) return;
  slots_.News(slot, step, now);
  if (ledger_.Measured(occupant->key, step, values, train_seconds, eval_seconds, now)) wake_ = true;
  if (ledger_.buffered_bytes() < options_.buffer_bytes) return;
  const auto goes_on = [this, slot]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const SlotTable::Occupant* occupant = slots_.Find(slot);
    return closing_ || occupant == nullptr || occupant->stopping || ledger_.buffered_bytes() < options_.buffer_bytes;
  };
  mu_.Await(absl::Condition(&goes_on));
}

void Agent::Progressed(SlotId slot, int64_t step) {
  absl::MutexLock lock(&mu_);
  const SlotTable::Occupant* occupant = slots_.Find(slot);
  if (occupant == nullptr) return;
  slots_.News(slot, step, Now());
  ledger_.Progressed(occupant->key, step);
}

void Agent::Ended(SlotId slot, const RunEnd& end) {
  {
    absl::MutexLock lock(&mu_);
    const SlotTable::Occupant* occupant = slots_.Find(slot);
    if (occupant == nullptr) return;
    if (!end.message.empty()) spdlog::debug("trial {}: {}", occupant->key.trial, end.message);
    // One that stops unasked had a stop meant for its predecessor: it goes back like any other.
    ledger_.End(occupant->key, EndOf(end, draining_ ? v1::End::Released::DRAIN : v1::End::Released::PREEMPTED), Now());
    slots_.Vacate(slot);
    wake_ = true;
  }
  Dispatch();
}

void Agent::TrainerReady(int slot_class, int64_t incarnation, const ReadyFrame& ready) {
  {
    absl::MutexLock lock(&mu_);
    const auto index = static_cast<size_t>(slot_class);
    spdlog::info("trainer on {} is ready: {}; {}", options_.devices[index].device, ready.description, ready.versions);
    for (const std::string& warning : ready.warnings) {
      spdlog::warn("{}", warning);
    }
    const bool news = !offered_[index].has_value();
    trainers_[index].state = Trainer::State::kReady;
    trainers_[index].incarnation = incarnation;
    offered_[index] = ready;
    // A stream that began without it says Hello once more.
    if (news && stream_ != StreamState::kNone) EndStream();
    wake_ = true;
  }
  Dispatch();
}

void Agent::TrainerDown(int slot_class, const std::string& why) {
  {
    absl::MutexLock lock(&mu_);
    const auto index = static_cast<size_t>(slot_class);
    const bool was_ready = trainers_[index].state == Trainer::State::kReady;
    trainers_[index].state = was_ready ? Trainer::State::kRestarting : Trainer::State::kFailed;
    for (const SlotTable::Casualty& casualty : slots_.TrainerDied(slot_class, Now())) {
      v1::End end = FailedEnd(casualty.blamed ? v1::End::Failure::TRIAL : v1::End::Failure::WORKER,
                              absl::StrCat("the trainer ", why));
      end.mutable_failure()->set_before_first_step(!casualty.began);
      ledger_.End(casualty.key, std::move(end), Now());
    }
    if (!was_ready) {
      // It does not even start: what waits for it goes to others, and it is no longer offered.
      const v1::End end = FailedEnd(v1::End::Failure::WORKER, absl::StrCat("the trainer ", why));
      ledger_.EndWaiting(slot_class, &NeedsTrainer, end, Now());
      if (offered_[index].has_value() && stream_ != StreamState::kNone) EndStream();
      offered_[index].reset();
    }
    wake_ = true;
  }
  Dispatch();
}

}  // namespace stepcurve
