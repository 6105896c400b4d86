// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/hello_message.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "proto/support/status_macros.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

constexpr size_t kLongestName = 1024;
constexpr int kMostSlotClasses = 256;
constexpr int kMostVersions = 256;
constexpr int kMostSlots = 100'000;
constexpr int kMostEntries = 100'000;  // Attempts held, sweeps, data sets.

absl::Status CheckKey(absl::string_view what, absl::string_view key) {
  const bool hex = key.size() == 32 && key.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  if (hex) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("hello.%s is \"%s\"; it must be 128 bits in lower-case hex", what, key.substr(0, 64)));
}

absl::Status CheckText(absl::string_view what, absl::string_view text) {
  if (text.size() > kLongestName || text.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrFormat("hello.%s must be at most %d bytes and without NUL", what, kLongestName));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(absl::string_view what, int count, int least, int most) {
  if (count < least || count > most) {
    return absl::InvalidArgumentError(
        absl::StrFormat("hello.%s has %d entries; it must have %d to %d", what, count, least, most));
  }
  return absl::OkStatus();
}

absl::Status CheckSlots(const v1::Hello& hello) {
  STEPCURVE_RETURN_IF_ERROR(CheckCount("slot_classes", hello.slot_classes_size(), 1, kMostSlotClasses));
  for (const v1::SlotClass& slots : hello.slot_classes()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("slot_classes.device", slots.device()));
    STEPCURVE_RETURN_IF_ERROR(CheckText("slot_classes.description", slots.description()));
    if (slots.slots() < 1 || slots.slots() > kMostSlots || slots.devices() < 0 || slots.threads() < 0 ||
        slots.memory_bytes() < 0) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "hello.slot_classes has %d slots of %d devices, %d threads and %d bytes; slots must be 1 to %d, the "
          "rest not negative",
          slots.slots(), slots.devices(), slots.threads(), slots.memory_bytes(), kMostSlots));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckCapabilities(const v1::Capabilities& can_run) {
  STEPCURVE_RETURN_IF_ERROR(CheckCount("can_run.datasets", can_run.datasets_size(), 0, kMostEntries));
  for (const v1::Capabilities::Dataset& dataset : can_run.datasets()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("can_run.datasets.name", dataset.name()));
    STEPCURVE_RETURN_IF_ERROR(CheckText("can_run.datasets.fingerprint", dataset.fingerprint()));
  }
  for (const std::string& model : can_run.models()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("can_run.models", model));
  }
  for (const std::string& optimizer : can_run.optimizers()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("can_run.optimizers", optimizer));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HelloRequest> ReadHello(const v1::WorkerMessage& message, absl::string_view server_name) {
  if (!message.has_hello()) {
    return absl::InvalidArgumentError("the first message of a stream must have a hello");
  }
  const v1::Hello& hello = message.hello();
  if (hello.protocol() < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("hello.protocol is %d; it must be 1 to %d", hello.protocol(), kWorkerProtocol));
  }
  STEPCURVE_RETURN_IF_ERROR(CheckKey("session", hello.session()));
  if (!hello.replaces().empty()) {
    STEPCURVE_RETURN_IF_ERROR(CheckKey("replaces", hello.replaces()));
    if (hello.replaces() == hello.session()) {
      return absl::InvalidArgumentError("hello.replaces is the session itself; it must be that of an earlier process");
    }
  }
  STEPCURVE_RETURN_IF_ERROR(CheckText("worker_name", hello.worker_name()));
  STEPCURVE_RETURN_IF_ERROR(CheckText("build", hello.build()));
  STEPCURVE_RETURN_IF_ERROR(CheckSlots(hello));
  STEPCURVE_RETURN_IF_ERROR(CheckCapabilities(hello.can_run()));
  STEPCURVE_RETURN_IF_ERROR(CheckCount("versions", hello.versions_size(), 0, kMostVersions));
  STEPCURVE_RETURN_IF_ERROR(CheckCount("held", hello.held_size(), 0, kMostEntries));
  STEPCURVE_RETURN_IF_ERROR(CheckCount("sweeps", hello.sweeps_size(), 0, kMostEntries));

  HelloRequest request;
  request.key = hello.session();
  request.replaces = hello.replaces();
  request.worker_name = hello.worker_name();
  request.build = hello.build();
  request.server_name = std::string(server_name);
  for (const v1::SlotClass& slots : hello.slot_classes()) {
    request.slot_classes.push_back(FromProto(slots));
  }
  request.can_run = FromProto(hello.can_run());
  for (const std::string& version : hello.versions()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("versions", version));
    request.versions.push_back(version);
  }
  for (const std::string& sweep : hello.sweeps()) {
    STEPCURVE_RETURN_IF_ERROR(CheckText("sweeps", sweep));
    request.sweeps.push_back(sweep);
  }
  absl::flat_hash_set<int64_t> trials;
  for (const v1::Held& held : hello.held()) {
    if (held.trial() < 1 || held.attempt() < 1 || !trials.insert(held.trial()).second) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "hello.held lists trial %d attempt %d; ids and attempts must be positive and each trial listed once",
          held.trial(), held.attempt()));
    }
    request.held.push_back({held.trial(), held.attempt()});
  }
  return request;
}

}  // namespace stepcurve
