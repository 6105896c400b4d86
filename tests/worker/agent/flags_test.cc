// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace stepcurve {
namespace {

using ::testing::StartsWith;

struct Plan {
  std::string name;
  std::string device;
  std::string slots;
  int64_t threads;
  Machine machine;
  std::string expected;  // device x slots, or the start of the error.
};

class PlanDevicesTest : public ::testing::TestWithParam<Plan> {};

TEST_P(PlanDevicesTest, DevicesAndSlotsFollowFromTheFlagsAndTheMachine) {
  const Plan& plan = GetParam();
  const auto devices = PlanDevices(plan.device, plan.slots, plan.threads, plan.machine);
  if (!devices.ok()) {
    EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(devices.status().message()), StartsWith(plan.expected));
    return;
  }
  EXPECT_EQ(absl::StrJoin(*devices, " ",
                          [](std::string* out, const DeviceSlots& device) {
                            absl::StrAppend(out, device.device, "x", device.slots);
                          }),
            plan.expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlanDevicesTest,
    ::testing::Values(Plan{"Processor", "auto", "auto", 1, {.processors = 8}, "cpux8"},
                      Plan{"ThreadsDivideIt", "cpu", "auto", 3, {.processors = 8}, "cpux2"},
                      Plan{"OneSlotAtLeast", "cpu", "auto", 16, {.processors = 8}, "cpux1"},
                      Plan{"Cards", "auto", "auto", 4, {.processors = 8, .cuda_devices = 2}, "cuda:0x1 cuda:1x1"},
                      Plan{"SlotsAreOfEachDevice", "cuda:0,cuda:1", "3", 1, {.processors = 8}, "cuda:0x3 cuda:1x3"},
                      Plan{"ProcessorDespiteCards", "cpu", "2", 1, {.cuda_devices = 2}, "cpux2"},
                      Plan{"Unknown", "tpu", "1", 1, {}, "--device is tpu; it must be"},
                      Plan{"Repeated", "cuda:0,cuda:0", "1", 1, {}, "--device is cuda:0,cuda:0"},
                      Plan{"NegativeIndex", "cuda:-1", "1", 1, {}, "--device is cuda:-1"},
                      Plan{"NoSlots", "cpu", "0", 1, {}, "--slots is 0; it must be auto or from 1 to 256"},
                      Plan{"TooManySlots", "cpu", "257", 1, {}, "--slots is 257"},
                      Plan{"NoThreads", "cpu", "1", 0, {}, "--threads_per_slot is 0; it must be from 1 to 1024"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
