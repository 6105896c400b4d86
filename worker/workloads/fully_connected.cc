// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/fully_connected.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/support/catalogue.h"
#include "worker/data/image_files.h"
#include "worker/workloads/initial_weights.h"
#include "worker/workloads/layers.h"

namespace stepcurve {
namespace {

class FullyConnected final : public Model {
 public:
  FullyConnected(std::vector<at::Tensor> parameters, int64_t pass_examples)
      : parameters_(std::move(parameters)), pass_examples_(pass_examples) {}

  at::Tensor Logits(const at::Tensor& images) const override {
    at::Tensor x = images;
    for (size_t i = 0; i + 2 < parameters_.size(); i += 2) {
      x = LinearRelu(x, parameters_[i], parameters_[i + 1]);
    }
    return Linear(x, parameters_[parameters_.size() - 2], parameters_.back());
  }

  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  int64_t pass_examples() const override { return pass_examples_; }

 private:
  const std::vector<at::Tensor> parameters_;
  const int64_t pass_examples_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeFullyConnected(const std::string& name, const ModelSettings& settings) {
  const std::vector<int64_t> widths = FullyConnectedWidths(name);
  if (widths.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("model is ", name, "; expected fc_WIDTH[_WIDTH...], at most 16 widths of 1 to 65536"));
  }
  InitialWeights weights(settings);
  int64_t inputs = kImagePixels;
  int64_t kept = kImagePixels;  // Values that a pass keeps of one example.
  for (const int64_t width : widths) {
    weights.AddLinear(inputs, width);
    inputs = width;
    kept += width;
  }
  weights.AddLinear(inputs, kImageClasses);
  constexpr int64_t kKeptValues = 32 << 20;  // 128 MiB of them.
  return std::make_unique<FullyConnected>(weights.Take(), std::max<int64_t>(1, kKeptValues / kept));
}

}  // namespace stepcurve
