// SPDX-License-Identifier: Apache-2.0
#include "proto/channel/grpc_status.h"

#include <set>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/channel/random_id.h"
#include "stepcurve/v1/failure.pb.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status FieldStatus(absl::string_view field, absl::string_view text) {
  absl::Status status = absl::InvalidArgumentError(text);
  status.SetPayload(kFieldPayloadKey, absl::Cord(field));
  return status;
}

class RoundTripTest : public ::testing::TestWithParam<absl::StatusCode> {};

TEST_P(RoundTripTest, KeepsCodeAndMessage) {
  const absl::Status status(GetParam(), "sweep \"a\" is paused");
  EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
}

INSTANTIATE_TEST_SUITE_P(AllThatAreSent, RoundTripTest,
                         ::testing::Values(absl::StatusCode::kInvalidArgument, absl::StatusCode::kNotFound,
                                           absl::StatusCode::kAlreadyExists, absl::StatusCode::kFailedPrecondition,
                                           absl::StatusCode::kAborted, absl::StatusCode::kUnavailable,
                                           absl::StatusCode::kResourceExhausted, absl::StatusCode::kDeadlineExceeded,
                                           absl::StatusCode::kCancelled, absl::StatusCode::kUnimplemented),
                         [](const auto& info) {
                           std::string name = absl::StatusCodeToString(info.param);
                           std::erase(name, '_');
                           return name;
                         });

TEST(ToGrpcTest, OkStaysOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_EQ(FromGrpc(grpc::Status::OK), absl::OkStatus());
}

TEST(ToGrpcTest, KeepsTheTextOfInternalAndUnknownToItself) {
  for (const absl::Status& status : {absl::InternalError("relation trials"), absl::UnknownError("relation trials")}) {
    const grpc::Status sent = ToGrpc(status);
    EXPECT_EQ(static_cast<int>(sent.error_code()), static_cast<int>(status.code()));
    EXPECT_THAT(sent.error_message(), Not(HasSubstr("trials")));
    EXPECT_THAT(sent.error_message(), HasSubstr("under failure "));
  }
}

TEST(ToGrpcTest, NamesTheFieldInTheMessageAndInTheDetails) {
  const grpc::Status sent = ToGrpc(FieldStatus("search.space.momentum", "momentum is 2; it must be in [0, 1)"));
  EXPECT_EQ(sent.error_message(), "search.space.momentum: momentum is 2; it must be in [0, 1)");
  v1::Failure failure;
  ASSERT_TRUE(failure.ParseFromString(sent.error_details()));
  EXPECT_EQ(failure.field(), "search.space.momentum");
  EXPECT_EQ(failure.message(), "momentum is 2; it must be in [0, 1)");
}

TEST(FromGrpcTest, RestoresTheField) {
  const absl::Status status = FieldStatus("overrides[1].for", "no workload matches");
  EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
}

TEST(FromGrpcTest, ForeignDetailsLeaveTheMessage) {
  const absl::Status status = FromGrpc(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "text", "\xff\xff\xff"));
  EXPECT_EQ(status, absl::InvalidArgumentError("text"));
}

TEST(ToGrpcTest, CutsLongTextsBetweenCharacters) {
  std::string text(2044, 'a');
  for (int i = 0; i < 4000; ++i) {
    text += "\xc3\xa9";
  }
  const grpc::Status sent = ToGrpc(FieldStatus("name", text));
  EXPECT_LE(sent.error_message().size() + sent.error_details().size() * 4 / 3, 6000u);
  v1::Failure failure;
  ASSERT_TRUE(failure.ParseFromString(sent.error_details()));  // Refuses what is not UTF-8.
  EXPECT_TRUE(absl::EndsWith(failure.message(), "a..."));
}

TEST(RandomIdTest, GivesDistinctHex) {
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    ids.insert(RandomId());
  }
  EXPECT_EQ(ids.size(), 100u);
  for (const std::string& id : ids) {
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  }
}

}  // namespace
}  // namespace stepcurve
