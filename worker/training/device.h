// SPDX-License-Identifier: Apache-2.0
//
// The device that a trainer computes on, and the process round it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// "cpu" or "cuda:N". INVALID_ARGUMENT: neither. FAILED_PRECONDITION: this Torch or this machine has no such device.
absl::StatusOr<at::Device> ParseDevice(absl::string_view text);

// What is to be said of a device.
struct DeviceReport {
  std::string kind;  // cpu, cuda
  int64_t memory_bytes = 0;
  std::string description;
  std::string versions;
};
DeviceReport DescribeDevice(at::Device device);

// Settings of the whole process: memory that Torch frees is kept for its next request, since otherwise a step at a
// large batch size spends its time on page faults; and every pass computes in the precision it is asked for. Call first
// in main, before there are threads.
void PrepareProcess();

// Sets how many threads the operations that the calling thread starts may use. Not inherited: every slot calls it.
void UseThreads(int threads);

// Times a small matrix product with `threads` threads; a warning with the way out when it is slower than any optimised
// BLAS would be, else empty. CPU only.
std::string SlowBlasWarning(int threads);

}  // namespace stepcurve
