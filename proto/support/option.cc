// SPDX-License-Identifier: Apache-2.0
#include "proto/support/option.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/goal.h"

namespace stepcurve {
namespace {

std::string FormatValue(const Option::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return absl::StrCat(*integer);
  if (const auto* number = std::get_if<double>(&value)) return FormatDouble(*number);
  return std::get<std::string>(value);
}

std::string FormatOptions(const std::vector<Option>& options) {
  return absl::StrJoin(options, ",", [](std::string* out, const Option& option) {
    absl::StrAppend(out, option.name, "=", FormatValue(option.value));
  });
}

}  // namespace

std::string WorkloadAddress(const Workload& workload) {
  std::string address = absl::StrCat(workload.dataset, "/", workload.model, "/", workload.optimizer);
  if (!workload.variant.empty()) {
    absl::StrAppend(&address, "@", workload.variant);
  }
  return address;
}

std::string WorkloadIdentity(const Workload& workload) {
  return absl::StrCat(workload.dataset, "{", FormatOptions(workload.data), "}/", workload.model, "{",
                      FormatOptions(workload.options), "}/", workload.optimizer);
}

}  // namespace stepcurve
