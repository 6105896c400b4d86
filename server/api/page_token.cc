// SPDX-License-Identifier: Apache-2.0
#include "server/api/page_token.h"

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "proto/support/hash.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

void AppendNumber(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

uint64_t NumberAt(absl::string_view bytes, size_t index) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[8 * index + i]);
  return value;
}

uint64_t Seal(absl::string_view place, const google::protobuf::Message& request) {
  return Fnv1a64(absl::StrCat(request.GetTypeName(), "|", request.SerializeAsString(), "|", place));
}

}  // namespace

std::string PageToken(const google::protobuf::Message& request, absl::Span<const int64_t> place) {
  std::string bytes;
  for (const int64_t number : place) AppendNumber(bytes, static_cast<uint64_t>(number));
  AppendNumber(bytes, Seal(bytes, request));
  return absl::WebSafeBase64Escape(bytes);
}

absl::StatusOr<std::vector<int64_t>> PlaceOf(absl::string_view token, const google::protobuf::Message& request,
                                             size_t numbers) {
  std::string bytes;
  const bool decoded = token.size() <= 1024 && absl::WebSafeBase64Unescape(token, &bytes);
  if (!decoded || bytes.size() != 8 * (numbers + 1) ||
      NumberAt(bytes, numbers) != Seal(absl::string_view(bytes).substr(0, 8 * numbers), request)) {
    return FieldError("page_token",
                      "not a token of this list; pass the next_page_token of the same request, its other fields "
                      "unchanged, or none to start over");
  }
  std::vector<int64_t> place;
  for (size_t i = 0; i < numbers; ++i) place.push_back(static_cast<int64_t>(NumberAt(bytes, i)));
  return place;
}

}  // namespace stepcurve
