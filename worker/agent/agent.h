// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/support/clock.h"
#include "stepcurve/v1/worker_service.pb.h"
#include "worker/agent/ledger.h"
#include "worker/agent/offer.h"
#include "worker/agent/quadratic_runner.h"
#include "worker/agent/runner.h"
#include "worker/agent/slot_table.h"
#include "worker/agent/trainer_process.h"

namespace stepcurve {

// The worker daemon without its connection: holds the attempts, gives them to slots, and says what to send.
// Thread-safe: runners call it as RunEvents, one Uplink calls the rest.
class Agent final : public RunEvents {
 public:
  struct Options {
    std::string name;   // For people: host and process.
    std::string build;  // Version.
    std::vector<std::string> sweeps;
    std::vector<DeviceSlots> devices = {DeviceSlots{}};
    std::string trainer;                         // Program; empty: none, so that only the quadratic runs.
    std::vector<std::string> trainer_arguments;  // Beyond those that follow from the device.
    absl::Duration trainer_backoff = absl::Seconds(1);
    absl::Duration exit_when_idle = absl::InfiniteDuration();
    // An event waits so long for others to share its message.
    absl::Duration linger = absl::Milliseconds(50);
    // Above it, runs pause until the server has made some of what is held durable.
    size_t buffer_bytes = 128 << 20;
    const Clock* clock = Clock::System();  // Not owned.
  };

  explicit Agent(const Options& options);
  ~Agent() override;

  // --- For the Uplink.
  // Returns once every trainer is ready or has failed to start, or a minute has passed, or the agent has finished.
  void WaitForTrainers();
  // The first message of a new stream.
  v1::WorkerMessage BeginStream();
  void Handle(const v1::ServerMessage& message);
  // The next message, once there is one; std::nullopt when this stream should end.
  std::optional<v1::WorkerMessage> NextMessage();
  // The stream has broken: NextMessage says so too.
  void StreamBroke();
  // The server will not take what this session sends: forgets it, and goes on under a new id.
  void AbandonSession(const std::string& why);
  // Waits before the next dial; false at once when the agent has finished. A server that asked for a pause gets it.
  bool Pause(absl::Duration backoff);

  // --- For main.
  // Takes nothing new; hands back what waits, and what runs too unless `finish`. Once all of it is durable, the agent
  // has finished.
  void Drain(bool finish);
  bool finished() const;
  // Attempts that the server does not know the end of.
  size_t unsettled() const;

  // --- RunEvents
  void Measured(SlotId slot, int64_t step, const std::vector<double>& values, double train_seconds,
                double eval_seconds) override;
  void Progressed(SlotId slot, int64_t step) override;
  void Ended(SlotId slot, const RunEnd& end) override;
  void TrainerReady(int slot_class, int64_t incarnation, const ReadyFrame& ready) override;
  void TrainerDown(int slot_class, const std::string& why) override;

 private:
  struct Trainer {
    enum class State { kStarting, kReady, kRestarting, kFailed };
    State state = State::kStarting;
    int64_t incarnation = 0;
  };
  enum class StreamState { kNone, kGreeting, kOpen, kOver };
  // Runs to stop, once the lock is no longer held.
  using Stops = std::vector<std::pair<SlotId, bool>>;

  absl::Time Now() const { return options_.clock->Now(); }
  // Gives waiting attempts to free slots.
  void Dispatch() ABSL_LOCKS_EXCLUDED(mu_);
  void Perform(const Stops& stops) ABSL_LOCKS_EXCLUDED(mu_);
  bool CanRun(int slot_class, const TrialRun& run) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Take(const v1::Assignment& assignment) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StopSlot(SlotId slot, Stops& stops) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropSession(const std::string& why, Stops& stops) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DrainLocked(bool finish, Stops& stops) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndStream() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool FinishedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is due by the clock alone; about once a second.
  void KeepHouse(absl::Time now, Stops& stops) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FillMessage(absl::Time now, v1::WorkerMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable absl::Mutex mu_;
  Ledger ledger_ ABSL_GUARDED_BY(mu_);
  SlotTable slots_ ABSL_GUARDED_BY(mu_);
  std::string session_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, v1::StudyDefinition> studies_ ABSL_GUARDED_BY(mu_);  // Of this stream.
  v1::Welcome welcome_ ABSL_GUARDED_BY(mu_);
  StreamState stream_ ABSL_GUARDED_BY(mu_) = StreamState::kNone;
  absl::Duration asked_pause_ ABSL_GUARDED_BY(mu_);
  absl::Time next_heartbeat_ ABSL_GUARDED_BY(mu_);
  absl::Time next_housekeeping_ ABSL_GUARDED_BY(mu_);
  absl::Time idle_since_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool wake_ ABSL_GUARDED_BY(mu_) = false;  // Something changed that NextMessage or Pause should look at.
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // One per device, or none at all.
  std::vector<Trainer> trainers_ ABSL_GUARDED_BY(mu_);
  std::vector<std::optional<ReadyFrame>> offered_ ABSL_GUARDED_BY(mu_);  // What trainers can run.
  // Set by the constructor, while it holds the lock; thread-safe themselves.
  std::vector<std::unique_ptr<TrainerProcess>> processes_;
  std::vector<std::unique_ptr<QuadraticRunner>> quadratics_;
};

}  // namespace stepcurve
