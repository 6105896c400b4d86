// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "worker/agent/attempt_log.h"
#include "worker/agent/runner.h"

namespace stepcurve {

// Which attempt runs in which slot, and for how long nothing has been heard of it. Decides only; not thread-safe.
class SlotTable final {
 public:
  struct Occupant {
    AttemptKey key;
    bool in_trainer = false;
    bool stopping = false;    // Told to stop.
    int64_t step = -1;        // Highest step heard of.
    absl::Duration patience;  // Without news for so long, it is stuck. Zero: never.
    absl::Time last_news;
  };

  explicit SlotTable(const std::vector<int64_t>& slots);

  std::optional<SlotId> FindFree(int slot_class) const;
  void Occupy(SlotId slot, const Occupant& occupant) { At(slot) = occupant; }
  // nullptr where the slot is free.
  Occupant* Find(SlotId slot);
  // `step` was reached.
  void News(SlotId slot, int64_t step, absl::Time now);
  void Vacate(SlotId slot) { At(slot).reset(); }
  std::optional<SlotId> FindAttempt(AttemptKey key) const;
  std::vector<SlotId> Occupied() const;

  // Slots of trainers whose step has not moved for longer than they are given.
  std::vector<SlotId> Stuck(absl::Time now) const;

  // A trainer has died: what to make of each attempt it ran, all of which leave their slots. The one that was stuck is
  // to blame, or the only one there was; where several ran, none is known to be.
  struct Casualty {
    AttemptKey key;
    bool blamed = false;
    bool began = false;  // Some step of it was heard of.
  };
  std::vector<Casualty> TrainerDied(int slot_class, absl::Time now);

  bool empty() const { return Occupied().empty(); }

 private:
  std::optional<Occupant>& At(SlotId slot) {
    return classes_[static_cast<size_t>(slot.slot_class)][static_cast<size_t>(slot.slot)];
  }

  std::vector<std::vector<std::optional<Occupant>>> classes_;
};

}  // namespace stepcurve
