// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/time/time.h"

namespace stepcurve {

// Where a process takes its time from. Thread-safe. Leases never use it: the database's clock alone judges them.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;

  // The machine's clock; lives for ever.
  static const Clock* System();
};

}  // namespace stepcurve
