// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "proto/support/clock.h"

namespace stepcurve {

// What surrounds a command: where it prints, on what, and how patient it is. Nothing here is owned; all of it outlives
// the command.
struct Environment {
  std::ostream* out = nullptr;  // Results.
  std::ostream* err = nullptr;  // Talk.
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int columns = 80;
  int rows = 24;
  bool colour = false;  // Of a terminal that has it, unless NO_COLOR is set.
  std::string default_server = "localhost:7070";
  std::string user;  // Who submits: "ann@host".
  const Clock* clock = nullptr;

  // A lost watch dials again after first_backoff, doubled up to max_backoff, until nothing has been heard for patience.
  // A submit is repeated as long as its waits stay within submit_patience.
  absl::Duration first_backoff = absl::Milliseconds(250);
  absl::Duration max_backoff = absl::Seconds(10);
  absl::Duration patience = absl::Minutes(15);
  absl::Duration submit_patience = absl::Seconds(4);
  // How often a watch prints a line where there is no terminal, and asks for the curve where there is one.
  absl::Duration line_interval = absl::Minutes(1);
  absl::Duration curve_interval = absl::Seconds(2);
};

}  // namespace stepcurve
