// SPDX-License-Identifier: Apache-2.0
#include "server/api/page_token.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "stepcurve/v1/sweep_service.pb.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

v1::ListTrialsRequest Request(const std::string& sweep) {
  v1::ListTrialsRequest request;
  request.set_sweep(sweep);
  return request;
}

TEST(PageTokenTest, NamesThePlaceItWasMadeFor) {
  const std::vector<int64_t> place = {0, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  const auto found = PlaceOf(PageToken(Request("a"), place), Request("a"), 4);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(*found, place);
}

TEST(PageTokenTest, OfAnotherListIsRefused) {
  const std::string token = PageToken(Request("a"), {7, 8});
  EXPECT_THAT(PlaceOf(token, Request("a"), 2), IsOk());
  EXPECT_THAT(PlaceOf(token, Request("b"), 2), HasCode(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(PlaceOf(token, Request("a"), 3), HasCode(absl::StatusCode::kInvalidArgument));
  v1::ListSweepsRequest same_bytes;
  same_bytes.set_tag("a");
  ASSERT_EQ(same_bytes.SerializeAsString(), Request("a").SerializeAsString());
  EXPECT_THAT(PlaceOf(token, same_bytes, 2), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(PageTokenTest, ChangedOrMadeUpIsRefused) {
  const std::string token = PageToken(Request("a"), {7});
  for (size_t i = 0; i < token.size() - 2; ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_THAT(PlaceOf(changed, Request("a"), 1), HasCode(absl::StatusCode::kInvalidArgument)) << i;
  }
  for (const std::string& text : {std::string("x"), std::string("%%%"), std::string(5000, 'A'), token + "AAAA"}) {
    EXPECT_THAT(PlaceOf(text, Request("a"), 1), HasCode(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace stepcurve
