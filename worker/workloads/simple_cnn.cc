// SPDX-License-Identifier: Apache-2.0
#include "worker/workloads/simple_cnn.h"

#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "worker/data/image_files.h"
#include "worker/workloads/initial_weights.h"
#include "worker/workloads/layers.h"

namespace stepcurve {
namespace {

constexpr int64_t kFilterSide = 5;

struct Widths {
  absl::string_view name;
  int64_t first_filters;
  int64_t second_filters;
  int64_t hidden;
};

constexpr Widths kWidths[] = {
    {"simple_cnn_base", 32, 64, 1024},
    {"simple_cnn_narrow", 16, 32, 512},
    {"simple_cnn_wide", 64, 128, 2048},
};

class SimpleCnn final : public Model {
 public:
  explicit SimpleCnn(std::vector<at::Tensor> parameters, at::Device device)
      : parameters_(std::move(parameters)), pass_examples_(device.is_cpu() ? 128 : 1024) {}

  at::Tensor Logits(const at::Tensor& images) const override {
    at::Tensor x = images.view({-1, 1, kImageSide, kImageSide});
    x = ConvolveAndPool(x, parameters_[0], parameters_[1]);
    x = ConvolveAndPool(x, parameters_[2], parameters_[3]);
    x = LinearRelu(x.flatten(1), parameters_[4], parameters_[5]);
    return Linear(x, parameters_[6], parameters_[7]);
  }

  const std::vector<at::Tensor>& parameters() const override { return parameters_; }
  int64_t pass_examples() const override { return pass_examples_; }

 private:
  // ReLU after pooling: it does not change the order of values, so values and gradients are those of ReLU before
  // pooling, from a quarter of the work.
  static at::Tensor ConvolveAndPool(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    return at::max_pool2d(at::conv2d(x, weight, bias, /*stride=*/1, /*padding=*/kFilterSide / 2), {2, 2}).relu_();
  }

  const std::vector<at::Tensor> parameters_;
  const int64_t pass_examples_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeSimpleCnn(const std::string& name, const ModelSettings& settings) {
  for (const Widths& widths : kWidths) {
    if (widths.name != name) continue;
    constexpr int64_t kPooledSide = kImageSide / 4;
    InitialWeights weights(settings);
    weights.AddConvolution(1, widths.first_filters, kFilterSide);
    weights.AddConvolution(widths.first_filters, widths.second_filters, kFilterSide);
    weights.AddLinear(widths.second_filters * kPooledSide * kPooledSide, widths.hidden);
    weights.AddLinear(widths.hidden, kImageClasses);
    return std::make_unique<SimpleCnn>(weights.Take(), settings.device);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("model is ", name, "; expected simple_cnn_base, simple_cnn_narrow or simple_cnn_wide"));
}

}  // namespace stepcurve
