// SPDX-License-Identifier: Apache-2.0
//
// The commands: one table, and for each row a function that declares its options and says what to do once they are
// parsed.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/types/span.h"
#include "client/exit_status.h"
#include "client/session.h"

namespace stepcurve {

// A failure is printed and becomes the exit status that belongs to its code.
using Action = std::function<absl::StatusOr<ExitStatus>(Session&)>;

struct Command {
  const char* name;
  const char* group;
  const char* summary;
  const char* examples;
  // Adds options to the command's parser; the action uses what they were set to.
  Action (*define)(CLI::App* app);
};

absl::Span<const Command> Commands();

// One of the names; help shows the option's type name alone.
inline CLI::Validator OneOf(std::vector<std::string> names) { return CLI::IsMember(std::move(names)).description(""); }

// An integer of at least 1.
inline CLI::Validator Positive() {
  const auto check = [](const std::string& text) -> std::string {
    int64_t n = 0;
    return absl::SimpleAtoi(text, &n) && n >= 1 ? "" : text + " is not an integer of at least 1";
  };
  return CLI::Validator(check, "");
}

Action DefineSubmit(CLI::App* app);
Action DefineSweeps(CLI::App* app);
Action DefineShow(CLI::App* app);
Action DefineWatch(CLI::App* app);
Action DefineSpec(CLI::App* app);
Action DefinePause(CLI::App* app);
Action DefineResume(CLI::App* app);
Action DefineCancel(CLI::App* app);
Action DefineTrials(CLI::App* app);
Action DefineTrial(CLI::App* app);
Action DefineMeasurements(CLI::App* app);
Action DefineCurve(CLI::App* app);
Action DefinePlot(CLI::App* app);
Action DefineWorkloads(CLI::App* app);
Action DefineWorkers(CLI::App* app);
Action DefineDatasets(CLI::App* app);
Action DefineMetaparameters(CLI::App* app);
Action DefineCompletion(CLI::App* app);
Action DefineVersion(CLI::App* app);

}  // namespace stepcurve
