// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/sweep_file/yaml_tree.h"
#include "stepcurve/v1/sweep_spec.pb.h"

namespace stepcurve {

// A sweep file, read: the spec as its author wrote it, and the tree that knows on which line each field stands.
struct SweepFile {
  v1::SweepSpec spec;
  YamlNode root;
};

// Checks form alone: fields, types and numbers. What values are allowed, the server says; DescribeFileError prints its
// errors and the ones from here in one form. Errors are FileErrors.
absl::StatusOr<SweepFile> ParseSweepFile(absl::string_view text);

}  // namespace stepcurve
