// SPDX-License-Identifier: Apache-2.0
#include "worker/training/batch_sampler.h"

#include <ATen/ATen.h>

#include "absl/strings/str_cat.h"
#include "worker/data/permutation.h"

namespace stepcurve {

BatchSampler::BatchSampler(const Options& options)
    : options_(options),
      random_(Fnv1a64(absl::StrCat(options.seed, "|batches"))),
      order_(at::empty({0}, at::TensorOptions().dtype(at::kLong).device(options.device))) {}

at::Tensor BatchSampler::Next() {
  if (position_ + options_.batch_size > order_.size(0)) {
    const at::Tensor left = order_.narrow(0, position_, order_.size(0) - position_);
    order_ = at::cat({left, at::tensor(Permutation(options_.examples, random_)).to(options_.device)});
    position_ = 0;
  }
  const at::Tensor batch = order_.narrow(0, position_, options_.batch_size);
  position_ += options_.batch_size;
  return batch;
}

}  // namespace stepcurve
