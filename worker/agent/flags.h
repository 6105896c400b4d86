// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/agent/offer.h"

namespace stepcurve {

// The machine, as far as defaults depend on it.
struct Machine {
  int64_t processors = 1;
  int64_t cuda_devices = 0;  // That CUDA_VISIBLE_DEVICES leaves visible.

  static Machine Here();
};

// Devices and slots of --device, --slots and --threads_per_slot. INVALID_ARGUMENT names the flag at fault.
absl::StatusOr<std::vector<DeviceSlots>> PlanDevices(absl::string_view device, absl::string_view slots,
                                                     int64_t threads_per_slot, const Machine& machine);

struct WorkerFlags {
  std::string server;
  std::string name;
  std::vector<std::string> sweeps;
  std::vector<DeviceSlots> devices;
  std::string trainer;  // Empty: none found.
  std::string datasets;
  absl::Duration exit_when_idle;
  absl::Duration drain_timeout;
  absl::Duration connect_timeout;
};

// Parses the command line. Ends the process for --help and --version (0), and for what cannot be (2, one line on
// stderr).
WorkerFlags ReadFlagsOrExit(int argc, char** argv);

}  // namespace stepcurve
