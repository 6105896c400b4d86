// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/agent.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/channel/random_id.h"
#include "worker/agent/assignment.h"

namespace stepcurve {
namespace {

constexpr int kProtocol = 1;
constexpr absl::Duration kTrainerStart = absl::Minutes(1);
constexpr absl::Duration kHousekeeping = absl::Seconds(1);
constexpr absl::Duration kDefaultHeartbeat = absl::Seconds(15);
// An End that stays unanswered for so many heartbeats is sent again.
constexpr int kPatientHeartbeats = 4;
constexpr int64_t kMaxMessageBytes = 256 << 10;
constexpr int64_t kMaxPointsPerReport = 1024;
// Of each message: kept for demands and the heartbeat.
constexpr int64_t kReservedBytes = 32 << 10;

std::vector<int64_t> SlotsOf(const std::vector<DeviceSlots>& devices) {
  std::vector<int64_t> slots;
  for (const DeviceSlots& device : devices) {
    slots.push_back(device.slots);
  }
  return slots;
}

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace

Agent::Agent(const Options& options)
    : options_(options), ledger_(SlotsOf(options.devices)), slots_(SlotsOf(options.devices)), session_(RandomId()) {
  absl::MutexLock lock(&mu_);  // Trainers that are ready early wait for it.
  idle_since_ = Now();
  next_housekeeping_ = Now();
  offered_.resize(options_.devices.size());
  if (!options_.trainer.empty()) trainers_.resize(options_.devices.size());
  for (size_t i = 0; i < options_.devices.size(); ++i) {
    const DeviceSlots& device = options_.devices[i];
    const SlotId slots{static_cast<int>(i), static_cast<int>(device.slots)};
    quadratics_.push_back(std::make_unique<QuadraticRunner>(slots, this, options_.clock));
    if (options_.trainer.empty()) continue;
    TrainerProcess::Options trainer{
        .program = options_.trainer,
        .arguments = {absl::StrCat("--device=", device.device), absl::StrCat("--slots=", device.slots),
                      absl::StrCat("--threads=", device.threads)},
        .slots = slots,
        .events = this,
        .first_backoff = options_.trainer_backoff};
    trainer.arguments.insert(trainer.arguments.end(), options_.trainer_arguments.begin(),
                             options_.trainer_arguments.end());
    processes_.push_back(std::make_unique<TrainerProcess>(trainer));
  }
}

Agent::~Agent() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  processes_.clear();
  quadratics_.clear();
}

void Agent::WaitForTrainers() {
  absl::MutexLock lock(&mu_);
  const auto decided = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return FinishedLocked() || std::none_of(trainers_.begin(), trainers_.end(), [](const Trainer& trainer) {
             return trainer.state == Trainer::State::kStarting;
           });
  };
  mu_.AwaitWithTimeout(absl::Condition(&decided), kTrainerStart);
}

v1::WorkerMessage Agent::BeginStream() {
  absl::MutexLock lock(&mu_);
  ledger_.BeginStream();
  studies_.clear();
  welcome_.Clear();
  stream_ = StreamState::kGreeting;
  asked_pause_ = absl::ZeroDuration();
  v1::WorkerMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(kProtocol);
  hello.set_session(session_);
  hello.set_worker_name(options_.name);
  hello.set_build(options_.build);
  FillOffer(options_.devices, offered_, hello);
  for (v1::Held& held : ledger_.Held()) {
    *hello.add_held() = std::move(held);
  }
  hello.mutable_sweeps()->Add(options_.sweeps.begin(), options_.sweeps.end());
  return message;
}

void Agent::Handle(const v1::ServerMessage& message) {
  Stops stops;
  {
    absl::MutexLock lock(&mu_);
    if (stream_ == StreamState::kOver) return;  // What is still under way on it is void.
    if (message.has_welcome()) {
      welcome_ = message.welcome();
      stream_ = StreamState::kOpen;
      next_heartbeat_ = Now();
      v1::Hello offer;
      FillOffer(options_.devices, offered_, offer);
      spdlog::info("session {} is open, holding {} attempts; can run {}", session_, ledger_.attempts(),
                   DescribeOffer(offer.can_run()));
    }
    for (const v1::StudyDefinition& study : message.studies()) {
      studies_[study.study()] = study;
    }
    for (const v1::Assignment& assignment : message.assignments()) {
      Take(assignment);
    }
    for (const v1::Standing& standing : message.standings()) {
      const bool stop = ledger_.Apply(standing);
      const AttemptKey key{standing.trial(), standing.attempt()};
      if (!stop) continue;
      spdlog::info("trial {} attempt {} is no longer ours: {}", key.trial, key.attempt,
                   v1::Standing::Verdict_Name(standing.verdict()));
      if (const auto slot = slots_.FindAttempt(key)) StopSlot(*slot, stops);
    }
    if (message.has_drain()) {
      spdlog::info("the server asks to drain");
      DrainLocked(message.drain().finish(), stops);
    }
    if (message.has_reconnect()) {
      asked_pause_ = FromProto(message.reconnect().after());
      EndStream();
    }
    if (message.has_session_ended()) DropSession(message.session_ended().reason(), stops);
    wake_ = true;
  }
  Perform(stops);
  Dispatch();
}

void Agent::Take(const v1::Assignment& assignment) {
  const AttemptKey key{assignment.trial(), assignment.attempt()};
  if (assignment.slot_class() < 0 || assignment.slot_class() >= static_cast<int>(options_.devices.size())) {
    spdlog::error("trial {} was assigned to slot class {}, which was never offered", key.trial,
                  assignment.slot_class());
    return;  // The next Hello does not list it, so that the server has it back.
  }
  const auto refuse = [&](const std::string& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    spdlog::error("trial {} cannot be run: {}", key.trial, why);
    ledger_.Refuse(assignment.slot_class(), key, FailedEnd(v1::End::Failure::WORKER, why), Now());
  };
  const auto study = studies_.find(assignment.study());
  if (study == studies_.end()) return refuse(absl::StrCat("study ", assignment.study(), " was not defined"));
  absl::StatusOr<TrialRun> run = TrialRunOf(study->second, assignment);
  if (!run.ok()) return refuse(std::string(run.status().message()));
  ledger_.Assign(assignment.slot_class(),
                 {.run = *std::move(run), .patience = FromProto(study->second.no_progress_timeout())}, Now());
  // What arrives after a drain began was on its way before.
  if (draining_) ledger_.EndAllWaiting(ReleasedEnd(v1::End::Released::DRAIN), Now());
}

std::optional<v1::WorkerMessage> Agent::NextMessage() {
  while (true) {
    std::optional<v1::WorkerMessage> message;
    bool over = false;
    Stops stops;
    {
      absl::MutexLock lock(&mu_);
      const absl::Time now = Now();
      if (now >= next_housekeeping_) KeepHouse(now, stops);
      over = stream_ == StreamState::kOver || FinishedLocked();
      const absl::Time next = stream_ == StreamState::kOpen
                                  ? std::min(next_heartbeat_, ledger_.SendTime(options_.linger, now))
                                  : absl::InfiniteFuture();
      if (!over && next <= now) {
        FillMessage(now, message.emplace());
      } else if (!over && stops.empty()) {
        mu_.AwaitWithDeadline(absl::Condition(&wake_), std::min(next, next_housekeeping_));
      }
      wake_ = false;
    }
    Perform(stops);
    if (over || message.has_value()) return message;
  }
}

void Agent::FillMessage(absl::Time now, v1::WorkerMessage& message) {
  const auto limit = [](int64_t asked, int64_t most) { return asked > 0 ? std::min(asked, most) : most; };
  const int64_t bytes = limit(welcome_.max_message_bytes(), kMaxMessageBytes);
  const int64_t points = limit(welcome_.max_points_per_report(), kMaxPointsPerReport);
  ledger_.Fill({.bytes = static_cast<size_t>(std::max(bytes - kReservedBytes, bytes / 2)),
                .points_per_report = static_cast<size_t>(points)},
               now, message);
  ledger_.FillDemand(now, message);
  if (now >= next_heartbeat_) {
    const absl::Duration asked = FromProto(welcome_.heartbeat_interval());
    const absl::Duration interval = asked > absl::ZeroDuration() ? asked : kDefaultHeartbeat;
    ledger_.FillHeartbeat(message);
    ledger_.ResendUnanswered(now - kPatientHeartbeats * interval, now);
    next_heartbeat_ = now + interval;
  }
}

void Agent::KeepHouse(absl::Time now, Stops& stops) {
  next_housekeeping_ = now + kHousekeeping;
  ledger_.ReleaseSurplus(now);
  const bool paused = ledger_.buffered_bytes() >= options_.buffer_bytes;
  for (const SlotId& slot : paused ? std::vector<SlotId>() : slots_.Stuck(now)) {
    spdlog::error("trial {} makes no progress; ending its trainer", slots_.Find(slot)->key.trial);
    processes_[static_cast<size_t>(slot.slot_class)]->Kill();
  }
  const bool idle = ledger_.empty() && slots_.empty();
  idle_since_ = idle ? std::min(idle_since_, now) : absl::InfiniteFuture();
  if (idle && now - idle_since_ >= options_.exit_when_idle && !draining_) {
    spdlog::info("idle for {}", absl::FormatDuration(options_.exit_when_idle));
    DrainLocked(/*finish=*/true, stops);
  }
}

void Agent::StreamBroke() {
  absl::MutexLock lock(&mu_);
  EndStream();
}

void Agent::EndStream() {
  stream_ = StreamState::kOver;
  wake_ = true;
}

void Agent::AbandonSession(const std::string& why) {
  Stops stops;
  {
    absl::MutexLock lock(&mu_);
    DropSession(why, stops);
  }
  Perform(stops);
}

void Agent::DropSession(const std::string& why, Stops& stops) {
  spdlog::warn("session {} has ended ({}); dropping its {} attempts", session_, why, ledger_.attempts());
  ledger_.Clear();
  for (const SlotId& slot : slots_.Occupied()) {
    StopSlot(slot, stops);
  }
  session_ = RandomId();
  EndStream();
}

bool Agent::Pause(absl::Duration backoff) {
  Stops stops;
  absl::Time until;
  {
    absl::MutexLock lock(&mu_);
    until = Now() + std::max(backoff, asked_pause_);
  }
  while (true) {
    {
      absl::MutexLock lock(&mu_);
      const absl::Time now = Now();
      if (now >= next_housekeeping_) KeepHouse(now, stops);
      if (FinishedLocked()) return false;
      if (now >= until) return true;
      mu_.AwaitWithDeadline(absl::Condition(&wake_), std::min(until, next_housekeeping_));
      wake_ = false;
    }
    Perform(stops);
    stops.clear();
  }
}

void Agent::Drain(bool finish) {
  Stops stops;
  {
    absl::MutexLock lock(&mu_);
    DrainLocked(finish, stops);
  }
  Perform(stops);
}

void Agent::DrainLocked(bool finish, Stops& stops) {
  draining_ = true;
  wake_ = true;
  ledger_.CloseDemand();
  ledger_.EndAllWaiting(ReleasedEnd(v1::End::Released::DRAIN), Now());
  if (finish) return;
  for (const SlotId& slot : slots_.Occupied()) {
    StopSlot(slot, stops);
  }
}

bool Agent::FinishedLocked() const { return draining_ && ledger_.empty() && slots_.empty(); }

bool Agent::finished() const {
  absl::MutexLock lock(&mu_);
  return FinishedLocked();
}

size_t Agent::unsettled() const {
  absl::MutexLock lock(&mu_);
  return ledger_.attempts();
}

}  // namespace stepcurve
