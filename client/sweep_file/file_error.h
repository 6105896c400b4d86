// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/sweep_file/yaml_tree.h"

namespace stepcurve {

// INVALID_ARGUMENT about one place of a sweep file. `path` is the field as servers name it too
// ("search.space.momentum", "overrides[1].for"), empty for the file as a whole; the message is about it and does not
// repeat it.
absl::Status FileError(int line, absl::string_view path, absl::string_view message);

// The field that a status names, ours or a server's; empty if none.
std::string FieldOf(const absl::Status& status);

// "fig1.yaml:14: search.space.momentum: must be a number", for a FileError, or for a server's error about a field of
// the file that `root` holds. An error that names no field is about line 1.
std::string DescribeFileError(absl::string_view file, const YamlNode& root, const absl::Status& status);

}  // namespace stepcurve
