// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/run/frames.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

struct SlotId {
  int slot_class = 0;
  int slot = 0;
  friend bool operator==(const SlotId&, const SlotId&) = default;
};

// What runners tell the agent, from threads of their own. Thread-safe. Measured may block while too much is waiting to
// be sent; it then returns once there is room, or the slot is to stop.
class RunEvents {
 public:
  virtual ~RunEvents() = default;
  virtual void Measured(SlotId slot, int64_t step, const std::vector<double>& values, double train_seconds,
                        double eval_seconds) = 0;
  virtual void Progressed(SlotId slot, int64_t step) = 0;
  // The slot is free again.
  virtual void Ended(SlotId slot, const RunEnd& end) = 0;

  // A trainer is there and takes runs, until it is said to be down, which ends whatever it runs. `why` is for people.
  virtual void TrainerReady(int slot_class, int64_t incarnation, const ReadyFrame& ready) = 0;
  virtual void TrainerDown(int slot_class, const std::string& why) = 0;
};

}  // namespace stepcurve
