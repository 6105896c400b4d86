// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace stepcurve {

// The training losses of the latest steps, kept on the device, so that noting one waits for nothing; looking at them
// does.
class LossLog final {
 public:
  explicit LossLog(at::Device device);

  // Notes the loss of the step after the last noted one; the first is step 1. The log must not be full.
  void Add(const at::Tensor& loss);
  bool full() const { return noted_ == kCapacity; }

  // The first step whose loss was not finite, if any was, of those noted since the last call. Empties the log.
  std::optional<int64_t> FirstNonFinite();

 private:
  static constexpr int64_t kCapacity = 256;

  at::Tensor losses_;
  int64_t noted_ = 0;
  int64_t steps_before_ = 0;
};

}  // namespace stepcurve
