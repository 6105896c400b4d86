// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "client/exit_status.h"
#include "client/session.h"

namespace stepcurve {

struct FollowOptions {
  std::string sweep;            // Name or id.
  std::ostream* out = nullptr;  // Not owned.
  bool terminal = false;        // Redraw in place rather than print a line a minute.
  Format format = Format::kTable;
};

// Shows the state of a sweep until it ends, a paused one included: kDone when it is DONE without failed trials, else
// kFailed. Dials again when the stream is lost, for as long as the environment has patience; a first connection that
// fails, and what is no matter of the connection, is an error.
absl::StatusOr<ExitStatus> Follow(Session& session, const FollowOptions& options);

}  // namespace stepcurve
