// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "tests/worker/agent/scripted_server.h"
#include "worker/agent/agent.h"
#include "worker/agent/uplink.h"

namespace stepcurve {

// A worker in this process, connected to a scripted server.
class AgentHarness {
 public:
  explicit AgentHarness(const std::string& server, Agent::Options options = {}) : agent_(Named(std::move(options))) {
    uplink_.emplace(Uplink::Options{.server = server,
                                    .agent = &agent_,
                                    .first_backoff = absl::Milliseconds(10),
                                    .max_backoff = absl::Milliseconds(100)});
    thread_ = std::thread([this] {
      result_ = uplink_->Run();
      done_.Notify();
    });
  }
  ~AgentHarness() {
    uplink_->Cancel();
    agent_.Drain(/*finish=*/false);
    thread_.join();
  }

  Agent& agent() { return agent_; }
  // What Run returned; CANCELLED where it does not end within 20 seconds.
  absl::Status Result() {
    if (!done_.WaitForNotificationWithTimeout(absl::Seconds(20))) return absl::CancelledError("still running");
    return result_;
  }

 private:
  static Agent::Options Named(Agent::Options options) {
    options.name = "test";
    return options;
  }

  Agent agent_;
  std::optional<Uplink> uplink_;
  absl::Status result_;
  absl::Notification done_;
  std::thread thread_;
};

}  // namespace stepcurve
