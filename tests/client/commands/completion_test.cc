// SPDX-License-Identifier: Apache-2.0
//
// The completion scripts, run by the shells themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "tests/client/commands/command_test.h"

namespace stepcurve {
namespace {

using ::testing::HasSubstr;

struct Said {
  int status = -1;
  std::string text;
};

Said Shell(const std::string& command) {
  Said said;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) said.text.append(buffer.data(), n);
  said.status = pclose(pipe);
  return said;
}

class CompletionTest : public CommandTest {
 protected:
  std::string ScriptFor(const std::string& shell) {
    const Result result = Run({"completion", shell});
    EXPECT_EQ(result.status, 0);
    return WriteFile(shell, result.out);
  }
};

TEST_F(CompletionTest, BashCompletesCommandsOptionsAndValues) {
  const std::string script = ScriptFor("bash");
  const auto completed = [&](const std::string& words, int position) {
    const Said said = Shell(absl::StrCat("bash -euc 'source ", script, "; COMP_WORDS=(", words,
                                         "); COMP_CWORD=", position, "; _stepcurve; echo \"${COMPREPLY[@]}\"'"));
    EXPECT_EQ(said.status, 0) << said.text;
    return said.text;
  };
  EXPECT_EQ(completed("stepcurve cur", 1), "curve\n");
  EXPECT_EQ(completed("stepcurve --output js", 2), "json\n");
  EXPECT_EQ(completed("stepcurve --output json pl", 3), "plot\n");
  EXPECT_EQ(completed("stepcurve plot st", 2), "steps\n");
  EXPECT_EQ(completed("stepcurve curve a/b/c --sem", 3), "--semantics\n");
  EXPECT_EQ(completed("stepcurve curve a/b/c --semantics r", 4), "reached\n");
  const std::string commands = completed("stepcurve \"\"", 1);
  for (const Command& command : Commands()) EXPECT_THAT(commands, HasSubstr(command.name));
}

TEST_F(CompletionTest, ZshTakesTheScript) {
  const std::string script = ScriptFor("zsh");
  EXPECT_THAT(ReadFile(script), ::testing::StartsWith("#compdef stepcurve\n"));
  // Where there is a zsh: deploy/install-deps brings none.
  if (Shell("command -v zsh").status != 0) return;
  const Said said = Shell(absl::StrCat("zsh -f -c 'autoload -U compinit && compinit -u -D && source ", script,
                                       " && whence -w _stepcurve && echo $_comps[stepcurve]'"));
  EXPECT_EQ(said.text, "_stepcurve: function\n_stepcurve\n");
}

}  // namespace
}  // namespace stepcurve
