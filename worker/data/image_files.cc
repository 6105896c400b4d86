// SPDX-License-Identifier: Apache-2.0
#include "worker/data/image_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "proto/support/hash.h"
#include "proto/support/status_macros.h"
#include "worker/data/idx_file.h"

namespace stepcurve {
namespace {

constexpr absl::string_view kNames[] = {"mnist", "fashion_mnist"};

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// FILE or FILE.gz of `folder`; NOT_FOUND names both.
absl::StatusOr<std::string> ReadPlainOrGzipped(const std::string& folder, absl::string_view file,
                                               const std::vector<int64_t>& shape) {
  const std::string path = absl::StrCat(folder, "/", file);
  for (const std::string& candidate : {path, path + ".gz"}) {
    if (Exists(candidate)) return ReadIdxFile(candidate, shape);
  }
  return absl::NotFoundError(absl::StrCat(path, ": no such file, nor with .gz"));
}

absl::Status CheckLabels(const std::string& folder, absl::string_view file, const std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    const int label = static_cast<unsigned char>(labels[i]);
    if (label >= kImageClasses) {
      return absl::FailedPreconditionError(absl::StrFormat("%s/%s: label of example %d is %d; expected 0 to %d", folder,
                                                           file, i, label, kImageClasses - 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Span<const absl::string_view> ImageDatasets() { return kNames; }

absl::StatusOr<std::string> FindImageFolder(absl::string_view dataset, const std::string& datasets) {
  const std::string hyphened = absl::StrReplaceAll(dataset, {{"_", "-"}});
  std::vector<std::string> tried;
  for (const std::string& name : {std::string(dataset), hyphened}) {
    std::string folder = absl::StrCat(datasets, "/", name);
    if (IsFolder(folder)) return folder;
    if (tried.empty() || tried.back() != folder) tried.push_back(folder);
  }
  std::filesystem::path itself = std::filesystem::path(datasets).lexically_normal();
  if (!itself.has_filename()) itself = itself.parent_path();  // A trailing slash.
  if ((itself.filename() == std::string(dataset) || itself.filename() == hyphened) && IsFolder(datasets)) {
    return datasets;
  }
  return absl::NotFoundError(absl::StrCat("data set ", dataset, ": no folder ", absl::StrJoin(tried, " or ")));
}

absl::StatusOr<ImageFiles> LoadImageFiles(const std::string& folder) {
  constexpr absl::string_view kTrainLabelsFile = "train-labels-idx1-ubyte";
  constexpr absl::string_view kTestLabelsFile = "t10k-labels-idx1-ubyte";
  constexpr int64_t kTrainFile = kTrainImages + kValidationImages;
  ImageFiles files;
  files.folder = folder;
  STEPCURVE_ASSIGN_OR_RETURN(
      files.train_images, ReadPlainOrGzipped(folder, "train-images-idx3-ubyte", {kTrainFile, kImageSide, kImageSide}));
  STEPCURVE_ASSIGN_OR_RETURN(files.train_labels, ReadPlainOrGzipped(folder, kTrainLabelsFile, {kTrainFile}));
  STEPCURVE_ASSIGN_OR_RETURN(
      files.test_images, ReadPlainOrGzipped(folder, "t10k-images-idx3-ubyte", {kTestImages, kImageSide, kImageSide}));
  STEPCURVE_ASSIGN_OR_RETURN(files.test_labels, ReadPlainOrGzipped(folder, kTestLabelsFile, {kTestImages}));
  STEPCURVE_RETURN_IF_ERROR(CheckLabels(folder, kTrainLabelsFile, files.train_labels));
  STEPCURVE_RETURN_IF_ERROR(CheckLabels(folder, kTestLabelsFile, files.test_labels));
  files.fingerprint = absl::StrFormat(
      "%016x", Fnv1a64(absl::StrCat(files.train_images, files.train_labels, files.test_images, files.test_labels)));
  return files;
}

}  // namespace stepcurve
