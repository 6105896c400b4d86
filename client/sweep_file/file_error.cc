// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/file_error.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/channel/grpc_status.h"

namespace stepcurve {
namespace {

constexpr absl::string_view kLine = "stepcurve.line";

}  // namespace

absl::Status FileError(int line, absl::string_view path, absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kFieldPayloadKey, absl::Cord(path));
  status.SetPayload(kLine, absl::Cord(absl::StrCat(line)));
  return status;
}

std::string FieldOf(const absl::Status& status) {
  const absl::optional<absl::Cord> field = status.GetPayload(kFieldPayloadKey);
  return field.has_value() ? std::string(*field) : std::string();
}

std::string DescribeFileError(absl::string_view file, const YamlNode& root, const absl::Status& status) {
  const std::string field = FieldOf(status);
  int line = root.LineOf(field);
  if (const absl::optional<absl::Cord> known = status.GetPayload(kLine); known.has_value()) {
    (void)absl::SimpleAtoi(std::string(*known), &line);
  }
  return absl::StrCat(file, ":", line, ": ", field, field.empty() ? "" : ": ", status.message());
}

}  // namespace stepcurve
