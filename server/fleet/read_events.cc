// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/read_events.h"

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"

namespace stepcurve {
namespace {

constexpr size_t kLongestText = 4096;

// PostgreSQL's text holds no NUL; the cut falls before a character that would not fit whole.
std::string ReadableText(absl::string_view text) {
  size_t end = std::min(text.size(), kLongestText);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  std::string result(text.substr(0, end));
  std::replace(result.begin(), result.end(), '\0', ' ');
  return result;
}

AttemptEvents Of(int64_t trial, int64_t attempt, int64_t session) {
  AttemptEvents events;
  events.trial = trial;
  events.attempt = attempt;
  events.session = session;
  return events;
}

std::string WhyName(v1::End::Released::Why why) {
  switch (why) {
    case v1::End::Released::DRAIN:
      return "drain";
    case v1::End::Released::PREEMPTED:
      return "preempted";
    case v1::End::Released::RECALLED:
      return "recalled";
    default:
      return "released";
  }
}

}  // namespace

AttemptEvents ToEvents(const v1::Start& start, int64_t session) {
  AttemptEvents events = Of(start.trial(), start.attempt(), session);
  events.base_step = start.base_step();
  return events;
}

AttemptEvents ToEvents(const v1::Report& report, int64_t session) {
  AttemptEvents events = Of(report.trial(), report.attempt(), session);
  events.steps.reserve(report.step_deltas_size() + 1);
  events.steps.push_back(report.first_step());
  for (const int64_t delta : report.step_deltas()) {
    events.steps.push_back(events.steps.back() + delta);
  }
  events.values.assign(report.values().begin(), report.values().end());
  events.train_seconds = report.train_seconds();
  events.eval_seconds = report.eval_seconds();
  return events;
}

AttemptEvents ToEvents(const v1::End& end, int64_t session) {
  AttemptEvents events = Of(end.trial(), end.attempt(), session);
  Ending& ending = events.ending.emplace();
  ending.last_step = end.last_step();
  ending.log_tail = end.log_tail();
  switch (end.outcome_case()) {
    case v1::End::kDiverged:
      ending.outcome = Diverged{end.diverged().step(), ReadableText(end.diverged().reason())};
      break;
    case v1::End::kAtBound:
      ending.outcome = AtBound{end.at_bound().goal(), end.at_bound().step(), end.at_bound().witness()};
      break;
    case v1::End::kFailure:
      ending.outcome = Failure{.by_worker = end.failure().kind() == v1::End::Failure::WORKER,
                               .before_first_step = end.failure().before_first_step(),
                               .message = ReadableText(end.failure().message())};
      break;
    case v1::End::kReleased:
      ending.outcome = Released{WhyName(end.released().why())};
      break;
    default:
      ending.outcome = Complete{};
  }
  return events;
}

}  // namespace stepcurve
