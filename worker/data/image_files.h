// SPDX-License-Identifier: Apache-2.0
//
// MNIST and Fashion MNIST as files: where they lie, what they hold, and whether they are what they should be. No Torch.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace stepcurve {

inline constexpr int64_t kImageSide = 28;
inline constexpr int64_t kImagePixels = kImageSide * kImageSide;
inline constexpr int64_t kImageClasses = 10;
// The training file is cut in file order: its first 55,000 examples train, its last 5,000 validate.
inline constexpr int64_t kTrainImages = 55'000;
inline constexpr int64_t kValidationImages = 5'000;
inline constexpr int64_t kTestImages = 10'000;

// Where data sets are looked for when nobody says: Debian's folder of data set packages.
inline constexpr absl::string_view kDefaultDatasetsFolder = "/usr/share/datasets";

struct ImageFiles {
  std::string folder;
  std::string fingerprint;   // 16 hexadecimal digits, see LoadImageFiles.
  std::string train_images;  // 60,000 x 784 bytes, row-major, 0 black to 255 white.
  std::string train_labels;  // 60,000 bytes, 0 to 9.
  std::string test_images;   // 10,000 x 784.
  std::string test_labels;
};

// Names that FindImageFolder takes.
absl::Span<const absl::string_view> ImageDatasets();

// The folder of `dataset` below `datasets`: NAME with underscores or hyphens, or `datasets` itself where its last
// component is such a name. NOT_FOUND lists the folders that were tried.
absl::StatusOr<std::string> FindImageFolder(absl::string_view dataset, const std::string& datasets);

// Reads the four files of `folder`: {train,t10k}-{images-idx3,labels-idx1}-ubyte, each plain or with .gz. The
// fingerprint is the FNV-1a 64 hash of the train images, train labels, test images and test labels, headers left out.
// NOT_FOUND: a file is missing. FAILED_PRECONDITION: a file is not what it should be.
absl::StatusOr<ImageFiles> LoadImageFiles(const std::string& folder);

}  // namespace stepcurve
