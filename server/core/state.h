// SPDX-License-Identifier: Apache-2.0
//
// The life of trials and sweeps as tables, checked at compile time. The SQL types carry the same names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace stepcurve {

enum class TrialState { kQueued, kRunning, kComplete, kInfeasible, kStopped, kFailed, kCancelled };
inline constexpr size_t kTrialStates = 7;
inline constexpr std::array<absl::string_view, kTrialStates> kTrialStateNames = {
    "queued", "running", "complete", "infeasible", "stopped", "failed", "cancelled"};

enum class EndReason { kBudget, kDiverged, kExactStop, kGoalsReached, kError, kLostTooOften, kCancelled, kImported };
inline constexpr std::array<absl::string_view, 8> kEndReasonNames = {
    "budget", "diverged", "exact_stop", "goals_reached", "error", "lost_too_often", "cancelled", "imported"};

enum class SweepState { kActive, kPaused, kDone, kCancelled };
inline constexpr std::array<absl::string_view, 4> kSweepStateNames = {"active", "paused", "done", "cancelled"};

constexpr bool IsTerminal(TrialState state) { return state != TrialState::kQueued && state != TrialState::kRunning; }

// Whether any party may move a trial so. Rows: from; columns: to.
//   queued -> running     a grant
//   queued -> stopped     the exact rule
//   queued -> cancelled   its sweep is cancelled
//   running -> queued     its session ended or released it
//   running -> terminal   the worker's End, the exact rule, a cap, cancel
//   failed -> queued      an explicit retry
constexpr bool CanMove(TrialState from, TrialState to) {
  constexpr bool kMoves[kTrialStates][kTrialStates] = {
      // queued running complete infeasible stopped failed cancelled
      {false, true, false, false, true, false, true},     // queued
      {true, false, true, true, true, true, true},        // running
      {false, false, false, false, false, false, false},  // complete
      {false, false, false, false, false, false, false},  // infeasible
      {false, false, false, false, false, false, false},  // stopped
      {true, false, false, false, false, false, false},   // failed
      {false, false, false, false, false, false, false},  // cancelled
  };
  return kMoves[static_cast<size_t>(from)][static_cast<size_t>(to)];
}

static_assert(CanMove(TrialState::kRunning, TrialState::kQueued));
static_assert(CanMove(TrialState::kFailed, TrialState::kQueued));
static_assert(!CanMove(TrialState::kComplete, TrialState::kQueued));
static_assert(!CanMove(TrialState::kQueued, TrialState::kComplete));

// active <-> paused; either -> done or cancelled; done -> active by an explicit retry or extension.
constexpr bool CanMove(SweepState from, SweepState to) {
  switch (from) {
    case SweepState::kActive:
      return to != SweepState::kActive;
    case SweepState::kPaused:
      return to != SweepState::kPaused;
    case SweepState::kDone:
      return to == SweepState::kActive;
    case SweepState::kCancelled:
      return false;
  }
  return false;
}

inline absl::string_view Name(TrialState state) { return kTrialStateNames[static_cast<size_t>(state)]; }
inline absl::string_view Name(EndReason reason) { return kEndReasonNames[static_cast<size_t>(reason)]; }
inline absl::string_view Name(SweepState state) { return kSweepStateNames[static_cast<size_t>(state)]; }

// Trials by state.
struct StateCounts {
  std::array<int64_t, kTrialStates> by_state{};
  int64_t& operator[](TrialState state) { return by_state[static_cast<size_t>(state)]; }
  int64_t operator[](TrialState state) const { return by_state[static_cast<size_t>(state)]; }
  int64_t open() const { return (*this)[TrialState::kQueued] + (*this)[TrialState::kRunning]; }
  int64_t total() const {
    int64_t sum = 0;
    for (int64_t n : by_state) sum += n;
    return sum;
  }
  StateCounts& operator+=(const StateCounts& other) {
    for (size_t i = 0; i < kTrialStates; ++i) by_state[i] += other.by_state[i];
    return *this;
  }
  friend bool operator==(const StateCounts&, const StateCounts&) = default;
};

}  // namespace stepcurve
