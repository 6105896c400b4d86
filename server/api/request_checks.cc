// SPDX-License-Identifier: Apache-2.0
#include "server/api/request_checks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/core/field_error.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

constexpr size_t kMaxNameBytes = 512;
constexpr int32_t kDefaultPage = 100;
constexpr int32_t kMaxPage = 1000;

}  // namespace

absl::Status CheckName(absl::string_view field, absl::string_view value) {
  if (value.empty()) {
    return FieldError(field, "is empty; it must be given");
  }
  if (value.size() > kMaxNameBytes) {
    return FieldError(field, absl::StrFormat("is %d bytes long; at most %d are allowed", value.size(), kMaxNameBytes));
  }
  if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return FieldError(field, "has control characters; none are allowed");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PageSize(int32_t page_size) {
  if (page_size < 0 || page_size > kMaxPage) {
    return FieldError("page_size",
                      absl::StrFormat("is %d; it must be 1 to %d, or 0 for %d", page_size, kMaxPage, kDefaultPage));
  }
  return page_size == 0 ? kDefaultPage : page_size;
}

absl::Status CheckAtLeastZero(absl::string_view field, int64_t value) {
  if (value < 0) {
    return FieldError(field, absl::StrFormat("is %d; it must be at least 0", value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Goal> CheckGoal(absl::string_view field, const v1::Goal& goal) {
  absl::StatusOr<Goal> parsed = GoalFromProto(goal);
  if (!parsed.ok() && parsed.status().code() == absl::StatusCode::kInvalidArgument) {
    const std::string inner = FieldOf(parsed.status());
    return FieldError(inner.empty() ? std::string(field) : absl::StrCat(field, ".", inner), parsed.status().message());
  }
  return parsed;
}

}  // namespace stepcurve
