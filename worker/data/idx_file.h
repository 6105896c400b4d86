// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stepcurve {

// Reads an IDX file of unsigned bytes, gzipped or plain: a big-endian magic number that names the type and the number
// of dimensions, a big-endian size per dimension, then the bytes in row-major order, which are returned. The file must
// have exactly the shape `expected`. NOT_FOUND: no such file. FAILED_PRECONDITION: it is not the file that is expected;
// the message names file, value and what is expected.
absl::StatusOr<std::string> ReadIdxFile(const std::string& path, const std::vector<int64_t>& expected);

}  // namespace stepcurve
