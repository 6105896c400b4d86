// SPDX-License-Identifier: Apache-2.0
#include "proto/channel/dial.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/channel/grpc_status.h"
#include "stepcurve/v1/sweep_service.grpc.pb.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct AddressCase {
  const char* name;
  const char* address;
  bool good;
};

class CheckAddressTest : public ::testing::TestWithParam<AddressCase> {};

TEST_P(CheckAddressTest, AcceptsHostAndPortOnly) {
  const absl::Status status = CheckAddress(GetParam().address);
  EXPECT_EQ(status.ok(), GetParam().good) << status;
  if (!GetParam().good) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("\"", GetParam().address, "\"")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CheckAddressTest,
    ::testing::Values(AddressCase{"Name", "localhost:7070", true}, AddressCase{"IPv4", "10.0.0.1:1", true},
                      AddressCase{"IPv6", "[::1]:7070", true}, AddressCase{"BareIPv6", "::1:7070", false},
                      AddressCase{"NoPort", "localhost", false}, AddressCase{"NoHost", ":7070", false},
                      AddressCase{"Empty", "", false}, AddressCase{"PortZero", "localhost:0", false},
                      AddressCase{"PortTooLarge", "localhost:65536", false},
                      AddressCase{"Word", "localhost:http", false}, AddressCase{"Url", "http://localhost:7070", false}),
    [](const auto& info) { return info.param.name; });

grpc::Status List(const std::string& server) {
  auto stub = v1::SweepService::NewStub(Dial({.server = server}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::ListSweepsResponse response;
  return stub->ListSweeps(&context, {}, &response);
}

TEST(DialTest, SaysInWordsThatNobodyAnswers) {
  const absl::Status status = FromGrpc(List("localhost:1"), "localhost:1");
  EXPECT_EQ(status, absl::UnavailableError("no stepcurve-server answers at localhost:1: Connection refused"));
}

TEST(FromGrpcOfAServerTest, KeepsTheReasonThatGrpcGives) {
  const grpc::Status status(grpc::StatusCode::UNAVAILABLE,
                            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: tcp handshaker "
                            "shutdown, and so on until no small buffer holds it any more");
  EXPECT_EQ(FromGrpc(status, "a:1"),
            absl::UnavailableError("no stepcurve-server answers at a:1: UNKNOWN: ipv4:127.0.0.1:1: tcp handshaker "
                                   "shutdown, and so on until no small buffer holds it any more"));
}

TEST(DialTest, SaysInWordsThatTheNameIsUnknown) {
  const absl::Status status = FromGrpc(List("no-such-host.invalid:1"), "no-such-host.invalid:1");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), StartsWith("no stepcurve-server answers at no-such-host.invalid:1: "));
}

class Busy final : public v1::SweepService::Service {
  grpc::Status ListSweeps(grpc::ServerContext*, const v1::ListSweepsRequest*, v1::ListSweepsResponse*) override {
    return ToGrpc(absl::UnavailableError("the database is away"));
  }
};

TEST(DialTest, LeavesTheServersOwnUnavailableAlone) {
  Busy service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const std::string address = absl::StrCat("localhost:", port);
  EXPECT_EQ(FromGrpc(List(address), address), absl::UnavailableError("the database is away"));
  EXPECT_EQ(WaitUntilReachable(*Dial({.server = address}), address, absl::Seconds(20)), absl::OkStatus());
}

TEST(DialTest, WaitsForAServerOnlySoLong) {
  const absl::Status status =
      WaitUntilReachable(*Dial({.server = "localhost:1"}), "localhost:1", absl::Milliseconds(50));
  EXPECT_EQ(status, absl::UnavailableError("no stepcurve-server answers at localhost:1: not reached within 50ms"));
}

}  // namespace
}  // namespace stepcurve
