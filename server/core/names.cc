// SPDX-License-Identifier: Apache-2.0
#include "server/core/names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/catalogue.h"
#include "server/core/field_error.h"

namespace stepcurve {

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '_' || c == '-';
  });
}

bool IsSweepName(absl::string_view name) { return IsPlainName(name) && absl::ascii_islower(name[0]); }

absl::Status UnknownName(absl::string_view path, absl::string_view kind, absl::string_view name,
                         const std::vector<std::string>& known) {
  return FieldError(path, absl::StrCat("unknown ", kind, " \"", name,
                                       "\"; nearest: ", absl::StrJoin(NearestNames(name, known), ", ")));
}

}  // namespace stepcurve
