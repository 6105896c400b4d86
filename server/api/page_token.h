// SPDX-License-Identifier: Apache-2.0
//
// Page tokens: a place in a list, tied to the request that the list answers. Opaque to clients; nothing in them is
// secret.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"

namespace stepcurve {

// The token for `place` in the list that `request` asks for; `request` without its page_token and page_size, which may
// differ from page to page.
std::string PageToken(const google::protobuf::Message& request, absl::Span<const int64_t> place);

// The place that a token names. INVALID_ARGUMENT unless PageToken made it for the same request and as many numbers.
absl::StatusOr<std::vector<int64_t>> PlaceOf(absl::string_view token, const google::protobuf::Message& request,
                                             size_t numbers);

}  // namespace stepcurve
