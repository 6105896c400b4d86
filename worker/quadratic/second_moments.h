// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepcurve {

// The noisy quadratic model (Zhang et al. 2019): loss 1/2 sum h_i x_i^2 with h_i = 1/i, gradient noise of variance
// h_i / batch in coordinate i, x_i(0) ~ N(0, 1). Only second moments are followed, so the expected loss is exact. Sums
// are taken in a fixed order: the same run gives the same bits. Not thread-safe.
class SecondMoments final {
 public:
  enum class Optimizer { kSgd, kMomentum, kNesterovMomentum };
  struct Options {
    Optimizer optimizer = Optimizer::kSgd;
    int64_t coordinates = 10'000;
    int64_t batch_size = 1;
    double momentum = 0;
    double weight_decay = 0;
  };

  explicit SecondMoments(const Options& options);

  // Learning rate of the updates that follow.
  void SetRate(double rate);

  // Expected loss now. Infinite or NaN once it has overflowed.
  double loss() const { return loss_; }

  // One update.
  void Step();

  // sgd only: `steps` updates at the present rate by the closed form, which costs as much as about fifty of them.
  // Returns false and changes nothing where the loss there would not be finite.
  bool Jump(int64_t steps);

 private:
  // Two coordinates: the vector that every 64-bit machine has. Wider ones were slower, as GCC spills them.
  static constexpr size_t kLanes = 2;
  struct Block {
    typedef double Vector __attribute__((vector_size(16)));
    Vector v = {};
  };
  using Coordinates = std::vector<Block>;

  static double HalfSum(const Block& sums);
  void StepSgd();
  void StepMomentum();
  void StepNesterov();
  // Coordinate `lane` of block `block` after `steps` updates of sgd.
  double SgdAfter(size_t block, size_t lane, double steps) const;

  const Optimizer optimizer_;
  const double momentum_;
  double rate_ = 0;
  double loss_ = 0;

  // Every moment is kept times its h, so that the loss is half the sum of the first. Padded with zeros to whole blocks.
  Coordinates x2_;         // h E x^2
  Coordinates v2_;         // h E v^2, v the momentum buffer; empty for sgd, as is xv_.
  Coordinates xv_;         // h E x v
  Coordinates curvature_;  // h + weight decay
  Coordinates noise_;      // h times the variance of the gradient noise.
  // sgd at the present rate: x2' = x2 + (kick - decay x2), which loses no digits however slow the decay is.
  Coordinates decay_;  // 1 - (1 - rate curvature)^2
  Coordinates kick_;
};

}  // namespace stepcurve
