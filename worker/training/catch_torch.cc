// SPDX-License-Identifier: Apache-2.0
#include "worker/training/catch_torch.h"

#include <exception>
#include <new>
#include <string>

#include <c10/util/Exception.h>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace stepcurve {
namespace {

// What was wrong, without the stack that Torch adds below it.
std::string FirstLine(absl::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace

absl::Status CatchTorch(const std::function<void()>& body) try {
  body();
  return absl::OkStatus();
} catch (const std::bad_alloc&) {
  return absl::ResourceExhaustedError("out of memory");
} catch (const c10::Error& e) {
  const std::string message = FirstLine(e.what_without_backtrace());
  // The device's allocator has a type of its own for it, the host's does not.
  if (absl::StrContains(message, "out of memory") || absl::StrContains(message, "can't allocate memory")) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::InternalError(message);
} catch (const std::exception& e) {
  return absl::InternalError(FirstLine(e.what()));
}

}  // namespace stepcurve
