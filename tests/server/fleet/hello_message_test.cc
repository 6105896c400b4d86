// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/hello_message.h"

#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace stepcurve {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

v1::WorkerMessage Good() {
  v1::WorkerMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol(1);
  hello.set_session("00112233445566778899aabbccddeeff");
  hello.set_worker_name("node:1");
  hello.set_build("0.1.0");
  hello.add_slot_classes()->set_slots(2);
  hello.mutable_can_run()->add_models("fc");
  hello.mutable_can_run()->add_datasets()->set_name("fashion_mnist");
  v1::Held& held = *hello.add_held();
  held.set_trial(7);
  held.set_attempt(2);
  hello.add_sweeps("fig1");
  hello.add_versions("torch 1.13.1");
  return message;
}

TEST(ReadHelloTest, TakesAllOver) {
  const auto request = ReadHello(Good(), "server:1");
  ASSERT_THAT(request, IsOk());
  EXPECT_EQ(request->key, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(request->replaces, "");
  EXPECT_EQ(request->worker_name, "node:1");
  EXPECT_EQ(request->build, "0.1.0");
  EXPECT_EQ(request->server_name, "server:1");
  ASSERT_THAT(request->slot_classes, SizeIs(1));
  EXPECT_EQ(request->slot_classes[0].slots, 2);
  EXPECT_THAT(request->can_run.models, ElementsAre("fc"));
  ASSERT_THAT(request->held, SizeIs(1));
  EXPECT_EQ(request->held[0].trial, 7);
  EXPECT_EQ(request->held[0].attempt, 2);
  EXPECT_THAT(request->sweeps, ElementsAre("fig1"));
  EXPECT_THAT(request->versions, ElementsAre("torch 1.13.1"));
}

TEST(ReadHelloTest, SpeaksToALaterProtocol) {
  v1::WorkerMessage message = Good();
  message.mutable_hello()->set_protocol(9);
  EXPECT_THAT(ReadHello(message, "server:1"), IsOk());
}

struct Bad {
  const char* name;
  const char* says;
  std::function<void(v1::WorkerMessage&)> make;
};

class RefusesHelloTest : public ::testing::TestWithParam<Bad> {};

TEST_P(RefusesHelloTest, NamingWhatCannotBe) {
  v1::WorkerMessage message = Good();
  GetParam().make(message);
  EXPECT_THAT(ReadHello(message, "server:1"), Fails(absl::StatusCode::kInvalidArgument, GetParam().says));
}

using M = v1::WorkerMessage;
INSTANTIATE_TEST_SUITE_P(
    All, RefusesHelloTest,
    ::testing::Values(
        Bad{"NoHello", "must have a hello", [](M& m) { m.clear_hello(); }},
        Bad{"NoProtocol", "hello.protocol is 0", [](M& m) { m.mutable_hello()->set_protocol(0); }},
        Bad{"ShortSession", "hello.session is \"0011\"", [](M& m) { m.mutable_hello()->set_session("0011"); }},
        Bad{"UpperCaseSession", "hello.session",
            [](M& m) { m.mutable_hello()->set_session("00112233445566778899AABBCCDDEEFF"); }},
        Bad{"WrongReplaces", "hello.replaces", [](M& m) { m.mutable_hello()->set_replaces("x"); }},
        Bad{"ReplacesItself", "hello.replaces is the session itself",
            [](M& m) { m.mutable_hello()->set_replaces(m.hello().session()); }},
        Bad{"LongName", "hello.worker_name", [](M& m) { m.mutable_hello()->set_worker_name(std::string(1025, 'x')); }},
        Bad{"NulInBuild", "hello.build", [](M& m) { m.mutable_hello()->set_build(std::string("a\0b", 3)); }},
        Bad{"LongVersion", "hello.versions", [](M& m) { m.mutable_hello()->add_versions(std::string(1025, 'x')); }},
        Bad{"NoSlots", "hello.slot_classes has 0 entries", [](M& m) { m.mutable_hello()->clear_slot_classes(); }},
        Bad{"ZeroSlots", "0 slots", [](M& m) { m.mutable_hello()->mutable_slot_classes(0)->set_slots(0); }},
        Bad{"NegativeMemory", "-1 bytes",
            [](M& m) { m.mutable_hello()->mutable_slot_classes(0)->set_memory_bytes(-1); }},
        Bad{"HeldTwice", "trial 7 attempt 3",
            [](M& m) {
              v1::Held& held = *m.mutable_hello()->add_held();
              held.set_trial(7);
              held.set_attempt(3);
            }},
        Bad{"HeldNothing", "trial 0 attempt 0", [](M& m) { m.mutable_hello()->add_held(); }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace stepcurve
