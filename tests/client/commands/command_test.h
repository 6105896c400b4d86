// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/command_line.h"
#include "client/environment.h"
#include "proto/support/clock.h"
#include "tests/client/commands/fake_server.h"

namespace stepcurve {

// Runs the program inside the test, against a scripted server.
class CommandTest : public ::testing::Test {
 protected:
  struct Result {
    int status = 0;
    std::string out;
    std::string err;
  };

  CommandTest() {
    environment_.user = "ann@host";
    environment_.clock = Clock::System();
    environment_.default_server = server_.address();
    environment_.first_backoff = absl::Milliseconds(1);
    environment_.max_backoff = absl::Milliseconds(20);
    environment_.submit_patience = absl::Milliseconds(100);
  }

  Result Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Environment environment = environment_;
    environment.out = &out;
    environment.err = &err;
    const int status = RunCommandLine(arguments, environment);
    return {status, out.str(), err.str()};
  }

  // A file in the test's own folder.
  static std::string Path(const std::string& name) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return ::testing::TempDir() + "stepcurve_" + test->test_suite_name() + "_" + test->name() + "_" + name;
  }
  static std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = Path(name);
    std::ofstream(path) << text;
    return path;
  }
  static std::string ReadFile(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  FakeServer server_;
  Environment environment_;
};

}  // namespace stepcurve
