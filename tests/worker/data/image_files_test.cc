// SPDX-License-Identifier: Apache-2.0
#include "worker/data/image_files.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "worker/data/idx_file.h"

namespace stepcurve {
namespace {

namespace fs = std::filesystem;

const char kFashionMnist[] = "/usr/share/datasets/fashion-mnist";
const char kTrainLabels[] = "train-labels-idx1-ubyte";
const char kTestLabels[] = "t10k-labels-idx1-ubyte";

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string Idx(uint32_t magic, const std::vector<uint32_t>& shape, const std::string& bytes) {
  std::string content = BigEndian(magic);
  for (const uint32_t size : shape) content += BigEndian(size);
  return content + bytes;
}

std::string Labels(uint32_t count) { return std::string(count, '\3'); }

// A folder of one's own, gone at the end.
class ImageFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "images.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The real files, by links.
  void LinkFashionMnist(const fs::path& folder) {
    fs::create_directories(folder);
    for (const auto& entry : fs::directory_iterator(kFashionMnist)) {
      fs::create_symlink(entry.path(), folder / entry.path().filename());
    }
  }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }

  fs::path folder_;
};

TEST_F(ImageFilesTest, DebiansFashionMnistLoads) {
  const auto files = LoadImageFiles(kFashionMnist);
  ASSERT_THAT(files, IsOk());
  EXPECT_EQ(files->train_images.size(), 60'000u * 784);
  EXPECT_EQ(files->test_images.size(), 10'000u * 784);
  for (char label = 0; label < 10; ++label) {  // The authors' own balance.
    EXPECT_EQ(std::count(files->train_labels.begin(), files->train_labels.end(), label), 6'000);
    EXPECT_EQ(std::count(files->test_labels.begin(), files->test_labels.end(), label), 1'000);
  }
  EXPECT_EQ(files->train_labels.substr(0, 5), (std::string{9, 0, 0, 3, 0}));
}

TEST_F(ImageFilesTest, PlainFilesLoadToTheSameFingerprintAsGzippedOnes) {
  LinkFashionMnist(folder_);
  const auto gzipped = LoadImageFiles(folder_);
  ASSERT_THAT(gzipped, IsOk());
  fs::remove(folder_ / (std::string(kTestLabels) + ".gz"));
  Write(kTestLabels, Idx(0x801, {10'000}, gzipped->test_labels));
  const auto plain = LoadImageFiles(folder_);
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->fingerprint, gzipped->fingerprint);
  EXPECT_THAT(plain->fingerprint, ::testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(plain->fingerprint.size(), 16u);
}

TEST_F(ImageFilesTest, OneOtherLabelIsAnotherFingerprint) {
  LinkFashionMnist(folder_);
  const auto before = LoadImageFiles(folder_);
  ASSERT_THAT(before, IsOk());
  std::string labels = before->test_labels;
  labels[9'999] = labels[9'999] == 0 ? 1 : 0;
  Write(kTestLabels, Idx(0x801, {10'000}, labels));
  const auto after = LoadImageFiles(folder_);
  ASSERT_THAT(after, IsOk());
  EXPECT_NE(after->fingerprint, before->fingerprint);
}

TEST_F(ImageFilesTest, FolderIsFoundBelowOrAtTheFolderOfDataSets) {
  struct Row {
    const char* made;
    const char* datasets;
  };
  for (const Row& row : {Row{"a/fashion_mnist", "a"}, Row{"b/fashion-mnist", "b"},
                         Row{"c/fashion-mnist", "c/fashion-mnist"}, Row{"d/fashion_mnist", "d/fashion_mnist/"}}) {
    fs::create_directories(folder_ / row.made);
    const auto found = FindImageFolder("fashion_mnist", folder_ / row.datasets);
    ASSERT_THAT(found, IsOk()) << row.made;
    EXPECT_TRUE(fs::equivalent(*found, folder_ / row.made)) << *found;
  }
  EXPECT_THAT(FindImageFolder("fashion_mnist", std::string(kDefaultDatasetsFolder)), IsOk());
}

TEST_F(ImageFilesTest, AnotherDataSetsFolderIsNotTaken) {
  fs::create_directories(folder_ / "fashion_mnist");
  EXPECT_THAT(FindImageFolder("mnist", folder_), Fails(absl::StatusCode::kNotFound, folder_.string() + "/mnist"));
  EXPECT_THAT(FindImageFolder("mnist", folder_ / "fashion_mnist"), HasCode(absl::StatusCode::kNotFound));
}

// Every way a file can be wrong, in place of one of the real files.
struct BadFile {
  std::string name;
  std::string file;
  std::string content;
  std::string message;
};

class BadFileTest : public ImageFilesTest, public ::testing::WithParamInterface<BadFile> {};

TEST_P(BadFileTest, IsRefusedByNameValueAndWhatIsExpected) {
  LinkFashionMnist(folder_);
  fs::remove(folder_ / (GetParam().file + ".gz"));
  Write(GetParam().file, GetParam().content);
  EXPECT_THAT(LoadImageFiles(folder_), Fails(absl::StatusCode::kFailedPrecondition, GetParam().message));
  EXPECT_THAT(LoadImageFiles(folder_),
              Fails(absl::StatusCode::kFailedPrecondition, folder_.string() + "/" + GetParam().file));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFileTest,
    ::testing::Values(BadFile{"Empty", kTestLabels, "", "has 0 bytes; expected a header of 8 and 10000 bytes of data"},
                      BadFile{"CutInTheHeader", kTestLabels, "\0\0\010", "has"},
                      BadFile{"ImagesForLabels", kTestLabels, Idx(0x803, {10'000, 28, 28}, Labels(10'000)),
                              "magic number is 0x00000803; expected 0x00000801 (unsigned bytes in 1 dimension)"},
                      BadFile{"Floats", "train-images-idx3-ubyte", Idx(0xd03, {60'000, 28, 28}, ""),
                              "magic number is 0x00000d03; expected 0x00000803 (unsigned bytes in 3 dimensions)"},
                      BadFile{"NotIdxAtAll", kTestLabels, "<html>404 Not Found</html>",
                              "magic number is 0x3c68746d; expected"},
                      BadFile{"FewerExamples", kTestLabels, Idx(0x801, {9'999}, Labels(9'999)),
                              "size of dimension 1 is 9999; expected 10000"},
                      BadFile{"OtherSide", "t10k-images-idx3-ubyte", Idx(0x803, {10'000, 28, 32}, ""),
                              "size of dimension 3 is 32; expected 28"},
                      BadFile{"HugeSize", kTestLabels, Idx(0x801, {0xffffffff}, ""),
                              "size of dimension 1 is 4294967295; expected 10000"},
                      BadFile{"Truncated", kTestLabels, Idx(0x801, {10'000}, Labels(9'000)),
                              "has 9000 bytes of data; expected 10000"},
                      BadFile{"TooLong", kTestLabels, Idx(0x801, {10'000}, Labels(10'005)),
                              "has at least 10001 bytes of data; expected 10000"},
                      BadFile{"LabelOutOfRange", kTestLabels, Idx(0x801, {10'000}, Labels(9'998) + "\n\2"),
                              "label of example 9998 is 10; expected 0 to 9"},
                      BadFile{"TrainLabelOutOfRange", kTrainLabels, Idx(0x801, {60'000}, "\377" + Labels(59'999)),
                              "label of example 0 is 255; expected 0 to 9"}),
    [](const auto& info) { return info.param.name; });

TEST_F(ImageFilesTest, MissingFileIsNamed) {
  LinkFashionMnist(folder_);
  fs::remove(folder_ / (std::string(kTrainLabels) + ".gz"));
  EXPECT_THAT(LoadImageFiles(folder_), Fails(absl::StatusCode::kNotFound,
                                             folder_.string() + "/" + kTrainLabels + ": no such file, nor with .gz"));
}

TEST_F(ImageFilesTest, TruncatedGzipIsRefused) {
  const std::string path = folder_ / "labels.gz";
  const std::string content = Idx(0x801, {10'000}, Labels(5'000) + std::string(5'000, '\7'));
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, content.data(), content.size()), static_cast<int>(content.size()));
  gzclose(file);
  ASSERT_THAT(ReadIdxFile(path, {10'000}), IsOk());
  fs::resize_file(path, fs::file_size(path) - 12);
  EXPECT_THAT(ReadIdxFile(path, {10'000}), Fails(absl::StatusCode::kFailedPrecondition, path));
}

TEST_F(ImageFilesTest, FolderInPlaceOfAFileIsRefused) {
  EXPECT_THAT(ReadIdxFile(folder_, {10}), Fails(absl::StatusCode::kFailedPrecondition, folder_.string()));
}

}  // namespace
}  // namespace stepcurve
