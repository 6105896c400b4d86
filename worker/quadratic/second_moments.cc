// SPDX-License-Identifier: Apache-2.0
#include "worker/quadratic/second_moments.h"

#include <cmath>
#include <utility>

namespace stepcurve {

SecondMoments::SecondMoments(const Options& options) : optimizer_(options.optimizer), momentum_(options.momentum) {
  const size_t blocks = (static_cast<size_t>(options.coordinates) + kLanes - 1) / kLanes;
  for (Coordinates* coordinates : {&x2_, &curvature_, &noise_}) {
    coordinates->resize(blocks);
  }
  for (int64_t i = 0; i < options.coordinates; ++i) {
    const size_t block = static_cast<size_t>(i) / kLanes;
    const size_t lane = static_cast<size_t>(i) % kLanes;
    const double h = 1.0 / static_cast<double>(i + 1);
    x2_[block].v[lane] = h;
    curvature_[block].v[lane] = h + options.weight_decay;
    noise_[block].v[lane] = h * h / static_cast<double>(options.batch_size);
  }
  if (optimizer_ == Optimizer::kSgd) {
    decay_.resize(blocks);
    kick_.resize(blocks);
  } else {
    v2_.resize(blocks);
    xv_.resize(blocks);
  }
  Block sums;
  for (const Block& block : x2_) {
    sums.v += block.v;
  }
  loss_ = HalfSum(sums);
}

void SecondMoments::SetRate(double rate) {
  if (rate == rate_) return;
  rate_ = rate;
  for (size_t i = 0; i < decay_.size(); ++i) {
    const Block::Vector move = rate * curvature_[i].v;
    decay_[i].v = move * (2.0 - move);
    kick_[i].v = rate * rate * noise_[i].v;
  }
}

double SecondMoments::HalfSum(const Block& sums) {
  double sum = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sum += sums.v[lane];
  }
  return 0.5 * sum;
}

void SecondMoments::Step() {
  switch (optimizer_) {
    case Optimizer::kSgd:
      return StepSgd();
    case Optimizer::kMomentum:
      return StepMomentum();
    case Optimizer::kNesterovMomentum:
      return StepNesterov();
  }
}

void SecondMoments::StepSgd() {
  Block sums;
  for (size_t i = 0; i < x2_.size(); ++i) {
    const Block::Vector x2 = x2_[i].v;
    const Block::Vector next = x2 + (kick_[i].v - decay_[i].v * x2);
    x2_[i].v = next;
    sums.v += next;
  }
  loss_ = HalfSum(sums);
}

// v' = m v + g, x' = x - a v', with g = c x + noise.
void SecondMoments::StepMomentum() {
  const double a = rate_;
  const double m = momentum_;
  Block sums;
  for (size_t i = 0; i < x2_.size(); ++i) {
    const Block::Vector cx2 = curvature_[i].v * x2_[i].v;          // E x g
    const Block::Vector mxv = m * xv_[i].v;                        // E x m v
    const Block::Vector g2 = curvature_[i].v * cx2 + noise_[i].v;  // E g^2
    const Block::Vector v2 = m * m * v2_[i].v + 2 * curvature_[i].v * mxv + g2;
    const Block::Vector xv = mxv + cx2;  // Of x and v'.
    const Block::Vector x2 = x2_[i].v - 2 * a * xv + a * a * v2;
    x2_[i].v = x2;
    v2_[i].v = v2;
    xv_[i].v = xv - a * v2;
    sums.v += x2;
  }
  loss_ = HalfSum(sums);
}

// v' = m v + g, u = g + m v', x' = x - a u.
void SecondMoments::StepNesterov() {
  const double a = rate_;
  const double m = momentum_;
  Block sums;
  for (size_t i = 0; i < x2_.size(); ++i) {
    const Block::Vector cx2 = curvature_[i].v * x2_[i].v;          // E x g
    const Block::Vector mxv = m * xv_[i].v;                        // E x m v
    const Block::Vector g2 = curvature_[i].v * cx2 + noise_[i].v;  // E g^2
    const Block::Vector gv = g2 + curvature_[i].v * mxv;           // E g v'
    const Block::Vector v2 = m * m * v2_[i].v + curvature_[i].v * mxv + gv;
    const Block::Vector uv = gv + m * v2;   // E u v'
    const Block::Vector xv = mxv + cx2;     // E x v'
    const Block::Vector xu = cx2 + m * xv;  // E x u
    const Block::Vector u2 = g2 + m * (gv + uv);
    const Block::Vector x2 = x2_[i].v - 2 * a * xu + a * a * u2;
    x2_[i].v = x2;
    v2_[i].v = v2;
    xv_[i].v = xv - a * uv;
    sums.v += x2;
  }
  loss_ = HalfSum(sums);
}

// With beta = 1 - decay: beta^steps x2 + kick (1 - beta^steps) / decay, each factor to full relative precision.
double SecondMoments::SgdAfter(size_t block, size_t lane, double steps) const {
  const double x2 = x2_[block].v[lane];
  const double decay = decay_[block].v[lane];
  const double kick = kick_[block].v[lane];
  if (decay == 0) return x2 + steps * kick;
  const double move = rate_ * curvature_[block].v[lane];
  const double exponent = steps * 2 * std::log1p(move < 1 ? -move : move - 2);  // log beta^steps
  return std::exp(exponent) * x2 - std::expm1(exponent) * (kick / decay);
}

bool SecondMoments::Jump(int64_t steps) {
  Coordinates next(x2_.size());
  Block sums;
  for (size_t i = 0; i < next.size(); ++i) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      next[i].v[lane] = SgdAfter(i, lane, static_cast<double>(steps));
    }
    sums.v += next[i].v;
  }
  const double loss = HalfSum(sums);
  if (!std::isfinite(loss)) return false;
  x2_ = std::move(next);
  loss_ = loss;
  return true;
}

}  // namespace stepcurve
