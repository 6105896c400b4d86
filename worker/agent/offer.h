// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stepcurve/v1/worker_service.pb.h"
#include "worker/run/frames.h"

namespace stepcurve {

// Slots of one device.
struct DeviceSlots {
  std::string device = "cpu";  // cpu, cuda:0, or auto, which is the trainer's choice.
  int64_t slots = 1;
  int64_t threads = 1;  // Of each.
};

// Fills in what a Hello says of slots and of what they can run: the quadratic always, and what each device's trainer
// said when it was ready (nothing where there is none), the versions of its libraries among it.
void FillOffer(const std::vector<DeviceSlots>& devices, const std::vector<std::optional<ReadyFrame>>& trainers,
               v1::Hello& hello);

// For people: "quadratic, fashion_mnist; noisy_quadratic, fc; sgd".
std::string DescribeOffer(const v1::Capabilities& can_run);

}  // namespace stepcurve
