// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace stepcurve {

// Fully connected layer: x weight^T + bias for x [n, inputs]. A single example is taken as a vector: as a matrix of one row
// it would have BLAS copy the whole weight into another layout for every product.
at::Tensor Linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// The same, then ReLU.
at::Tensor LinearRelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace stepcurve
