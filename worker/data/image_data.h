// SPDX-License-Identifier: Apache-2.0
//
// A data set as tensors on a device. Immutable once made, so the slots of a device share one.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "worker/data/image_files.h"

namespace stepcurve {

struct Examples {
  at::Tensor images;  // float32 [n, 784]: pixel / 255, so in [0, 1]; no mean is taken off and nothing is augmented.
  at::Tensor labels;  // int64 [n].

  int64_t size() const { return labels.size(0); }
};

struct ImageData {
  std::string name;
  std::string fingerprint;
  Examples train;
  Examples val;
  Examples test;
};

// Throws what Torch throws, when the device has no room for example.
ImageData MoveToDevice(const std::string& name, const ImageFiles& files, at::Device device);

// The fixed sample of the training set on which train metrics are evaluated: the same for every trial of a data set,
// and a smaller one is part of a larger one. All of it where `examples` is 0 or not below its size.
Examples TrainSample(const ImageData& data, int64_t examples);

}  // namespace stepcurve
