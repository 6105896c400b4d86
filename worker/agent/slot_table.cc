// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/slot_table.h"

#include <algorithm>

namespace stepcurve {

SlotTable::SlotTable(const std::vector<int64_t>& slots) {
  for (const int64_t count : slots) {
    classes_.emplace_back(static_cast<size_t>(count));
  }
}

std::optional<SlotId> SlotTable::FindFree(int slot_class) const {
  const auto& slots = classes_[static_cast<size_t>(slot_class)];
  const auto free = std::find(slots.begin(), slots.end(), std::nullopt);
  if (free == slots.end()) return std::nullopt;
  return SlotId{slot_class, static_cast<int>(free - slots.begin())};
}

SlotTable::Occupant* SlotTable::Find(SlotId slot) {
  std::optional<Occupant>& occupant = At(slot);
  return occupant.has_value() ? &*occupant : nullptr;
}

void SlotTable::News(SlotId slot, int64_t step, absl::Time now) {
  Occupant* occupant = Find(slot);
  if (occupant == nullptr || step <= occupant->step) return;
  occupant->step = step;
  occupant->last_news = now;
}

std::optional<SlotId> SlotTable::FindAttempt(AttemptKey key) const {
  for (const SlotId& slot : Occupied()) {
    if (classes_[static_cast<size_t>(slot.slot_class)][static_cast<size_t>(slot.slot)]->key == key) return slot;
  }
  return std::nullopt;
}

std::vector<SlotId> SlotTable::Occupied() const {
  std::vector<SlotId> occupied;
  for (size_t slot_class = 0; slot_class < classes_.size(); ++slot_class) {
    for (size_t slot = 0; slot < classes_[slot_class].size(); ++slot) {
      if (classes_[slot_class][slot].has_value()) {
        occupied.push_back({static_cast<int>(slot_class), static_cast<int>(slot)});
      }
    }
  }
  return occupied;
}

namespace {

bool IsStuck(const SlotTable::Occupant& occupant, absl::Time now) {
  return occupant.in_trainer && occupant.patience > absl::ZeroDuration() &&
         now - occupant.last_news > occupant.patience;
}

}  // namespace

std::vector<SlotId> SlotTable::Stuck(absl::Time now) const {
  std::vector<SlotId> stuck = Occupied();
  std::erase_if(stuck, [&](const SlotId& slot) {
    return !IsStuck(*classes_[static_cast<size_t>(slot.slot_class)][static_cast<size_t>(slot.slot)], now);
  });
  return stuck;
}

std::vector<SlotTable::Casualty> SlotTable::TrainerDied(int slot_class, absl::Time now) {
  std::vector<Casualty> casualties;
  for (std::optional<Occupant>& slot : classes_[static_cast<size_t>(slot_class)]) {
    if (!slot.has_value() || !slot->in_trainer) continue;
    casualties.push_back({.key = slot->key, .blamed = IsStuck(*slot, now), .began = slot->step >= 0});
    slot.reset();
  }
  if (casualties.size() == 1) casualties[0].blamed = true;
  return casualties;
}

}  // namespace stepcurve
