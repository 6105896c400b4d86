// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/types/span.h"

namespace stepcurve {

// One numbered pair of SQL files of migrations/, as the build has embedded it.
struct Migration {
  int version;
  const char* name;
  const char* up;
  const char* down;
};

// All of them; versions count from 1 without gaps.
absl::Span<const Migration> Migrations();

}  // namespace stepcurve
