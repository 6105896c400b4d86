// SPDX-License-Identifier: Apache-2.0
#include "worker/data/image_data.h"

#include <ATen/ATen.h>

#include "absl/strings/str_cat.h"
#include "proto/support/hash.h"
#include "worker/data/permutation.h"

namespace stepcurve {
namespace {

// `count` examples of a file, from its `first` on.
Examples Part(const std::string& images, const std::string& labels, int64_t first, int64_t count, at::Device device) {
  const auto bytes = [&](const std::string& content, int64_t width) {
    // from_blob takes no const pointer; nothing writes through it.
    char* begin = const_cast<char*>(content.data()) + first * width;
    return at::from_blob(begin, {count, width}, at::TensorOptions().dtype(at::kByte)).to(device);
  };
  return {.images = bytes(images, kImagePixels).to(at::kFloat).div_(255.0),
          .labels = bytes(labels, 1).to(at::kLong).reshape({count})};
}

}  // namespace

ImageData MoveToDevice(const std::string& name, const ImageFiles& files, at::Device device) {
  return {.name = name,
          .fingerprint = files.fingerprint,
          .train = Part(files.train_images, files.train_labels, 0, kTrainImages, device),
          .val = Part(files.train_images, files.train_labels, kTrainImages, kValidationImages, device),
          .test = Part(files.test_images, files.test_labels, 0, kTestImages, device)};
}

Examples TrainSample(const ImageData& data, int64_t examples) {
  if (examples == 0 || examples >= data.train.size()) return data.train;
  SplitMix64 random(Fnv1a64(absl::StrCat(data.name, "|train sample")));
  const at::Tensor sample =
      at::tensor(Permutation(data.train.size(), random)).narrow(0, 0, examples).to(data.train.labels.device());
  return {.images = data.train.images.index_select(0, sample), .labels = data.train.labels.index_select(0, sample)};
}

}  // namespace stepcurve
