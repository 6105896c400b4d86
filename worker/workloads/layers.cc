// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/layers.h"

#include <ATen/ATen.h>

namespace stepcurve {

at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (x.size(0) == 1) return at::addmv(bias, weight, x.squeeze(0)).unsqueeze(0);
  return at::linear(x, weight, bias);
}

at::Tensor LinearRelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (x.size(0) == 1) return at::addmv(bias, weight, x.squeeze(0)).relu_().unsqueeze(0);
  return at::linear(x, weight, bias).relu_();
}

}  // namespace stepcurve
