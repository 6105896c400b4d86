// SPDX-License-Identifier: Apache-2.0
#include "worker/training/device.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace stepcurve {
namespace {

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(field.first) == "model name") {
      return std::string(absl::StripAsciiWhitespace(field.second));
    }
  }
  return "CPU";
}

// Memory of the current CUDA device; 0 when unknown. Looked up in the runtime that LibTorch has loaded, as there are no
// CUDA headers to compile against.
int64_t CudaMemoryBytes() {
  using MemoryInfo = int (*)(size_t*, size_t*);
  const auto info = reinterpret_cast<MemoryInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (info == nullptr || info(&free_bytes, &total_bytes) != 0) return 0;
  return static_cast<int64_t>(total_bytes);
}

std::string BlasVersion() {
  using Config = char* (*)();
  const auto config = reinterpret_cast<Config>(dlsym(RTLD_DEFAULT, "openblas_get_config"));
  return config == nullptr ? "" : absl::StrCat(", ", absl::StripAsciiWhitespace(config()));
}

}  // namespace

absl::StatusOr<at::Device> ParseDevice(absl::string_view text) {
  if (text == "cpu") return at::Device(at::kCPU);
  absl::string_view number = text;
  int index = 0;
  if (!absl::ConsumePrefix(&number, "cuda:") || !absl::SimpleAtoi(number, &index) || index < 0) {
    return absl::InvalidArgumentError(absl::StrCat("device is ", text, "; expected cpu or cuda:N"));
  }
  const int devices = torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
  if (index >= devices) {
    return absl::FailedPreconditionError(
        absl::StrCat("device is ", text, "; Torch ", TORCH_VERSION, " sees ", devices, " CUDA devices here"));
  }
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(index));
}

DeviceReport DescribeDevice(at::Device device) {
  DeviceReport report;
  report.versions = absl::StrCat("torch ", TORCH_VERSION, BlasVersion());
  if (device.is_cpu()) {
    report.kind = "cpu";
    report.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    report.description = CpuName();
    return report;
  }
  report.kind = "cuda";
  at::zeros({1}, device);  // Makes the device's context, and shows that it works.
  report.memory_bytes = CudaMemoryBytes();
  report.description = absl::StrCat("CUDA device ", static_cast<int>(device.index()));
  return report;
}

void PrepareProcess() {
  mallopt(M_ARENA_MAX, 1);  // The other arenas cannot hold large blocks.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setDeterministicCuDNN(true);
  at::set_num_interop_threads(1);
}

void UseThreads(int threads) {
  at::init_num_threads();
  at::set_num_threads(threads);
}

std::string SlowBlasWarning(int threads) {
  constexpr int64_t kSide = 256;
  constexpr double kSlowestOptimised = 4e9;  // Operations a second; the reference BLAS makes 0.5e9 to 2e9.
  UseThreads(threads);
  const at::Tensor a = at::ones({kSide, kSide});
  double best_seconds = 1e9;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    at::mm(a, a);
    best_seconds =
        std::min(best_seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double rate = 2.0 * kSide * kSide * kSide / best_seconds;
  if (rate >= kSlowestOptimised) return "";
  return absl::StrFormat(
      "a product of two matrices of side %d runs at %.1f GFLOP/s, as with the reference BLAS, and training will be "
      "many "
      "times slower than it could be; on Debian install libopenblas0-openmp",
      kSide, rate / 1e9);
}

}  // namespace stepcurve
