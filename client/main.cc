// SPDX-License-Identifier: Apache-2.0
//
// stepcurve: the command line.
#include <pwd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/command_line.h"
#include "client/environment.h"
#include "proto/support/clock.h"

namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string UserAtHost() {
  std::string user = Variable("USER");
  if (user.empty()) {
    const passwd* entry = getpwuid(getuid());
    user = entry == nullptr ? absl::StrCat(getuid()) : entry->pw_name;
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(user, "@", host);
}

}  // namespace

int main(int argc, char** argv) {
  stepcurve::Environment environment;
  environment.out = &std::cout;
  environment.err = &std::cerr;
  environment.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  environment.err_is_terminal = isatty(STDERR_FILENO) == 1;
  environment.colour = Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  winsize size{};
  if (ioctl(environment.out_is_terminal ? STDOUT_FILENO : STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    environment.columns = size.ws_col;
    environment.rows = size.ws_row;
  } else if (int columns = 0; absl::SimpleAtoi(Variable("COLUMNS"), &columns) && columns > 0) {
    environment.columns = columns;
  }
  if (const std::string server = Variable("STEPCURVE_SERVER"); !server.empty()) environment.default_server = server;
  environment.user = UserAtHost();
  environment.clock = stepcurve::Clock::System();
  return stepcurve::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), environment);
}
