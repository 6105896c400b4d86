// SPDX-License-Identifier: Apache-2.0
#include "client/commands/goal_argument.h"

#include "proto/support/goal.h"
#include "proto/support/status_macros.h"

namespace stepcurve {

absl::StatusOr<v1::Goal> GoalArgument(const std::string& text) {
  STEPCURVE_ASSIGN_OR_RETURN(const Goal goal, ParseGoal(text));
  v1::Goal message;
  message.set_metric(goal.metric);
  message.set_threshold(goal.threshold);
  switch (goal.comparison) {
    case Goal::Comparison::kLess:
      message.set_comparison(v1::Goal::LESS);
      break;
    case Goal::Comparison::kLessOrEqual:
      message.set_comparison(v1::Goal::LESS_OR_EQUAL);
      break;
    case Goal::Comparison::kGreater:
      message.set_comparison(v1::Goal::GREATER);
      break;
    case Goal::Comparison::kGreaterOrEqual:
      message.set_comparison(v1::Goal::GREATER_OR_EQUAL);
      break;
  }
  return message;
}

}  // namespace stepcurve
