// SPDX-License-Identifier: Apache-2.0
#include "client/render/figures.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/sweep_file/number.h"
#include "proto/support/evaluation_grid.h"
#include "proto/support/goal.h"

namespace stepcurve {
namespace {

// Lower case, without the value that stands for nothing.
std::string Lower(const std::string& name, int value) { return value == 0 ? "" : absl::AsciiStrToLower(name); }

}  // namespace

std::string Grouped(int64_t n) {
  std::string digits = absl::StrCat(n);
  const int first = n < 0 ? 1 : 0;
  for (int i = static_cast<int>(digits.size()) - 3; i > first; i -= 3) digits.insert(i, 1, ',');
  return digits;
}

std::string Short(double value, absl::string_view gap) {
  if (!std::isfinite(value)) return FormatDouble(value);
  constexpr absl::string_view kUnits[] = {"", "k", "M", "G", "T", "P", "E"};
  size_t unit = 0;
  double scaled = value;
  // 999.5 would print as 1000.
  while (std::fabs(scaled) >= 999.5 && unit + 1 < std::size(kUnits)) {
    scaled /= 1000;
    ++unit;
  }
  if (unit == 0) return absl::StrFormat("%.3g", scaled);
  const int decimals = std::fabs(scaled) < 9.995 ? 2 : std::fabs(scaled) < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f%s%s", decimals, scaled, gap, kUnits[unit]);
}

std::string Value(double value) { return std::isfinite(value) ? absl::StrFormat("%.4g", value) : FormatDouble(value); }

std::string Span(absl::Duration span) {
  if (span < absl::Seconds(100)) return absl::StrFormat("%.0f s", absl::ToDoubleSeconds(span));
  if (span < absl::Minutes(100)) return absl::StrFormat("%.0f min", absl::ToDoubleMinutes(span));
  if (span < absl::Hours(48)) return absl::StrFormat("%.0f h", absl::ToDoubleHours(span));
  return absl::StrFormat("%.0f d", absl::ToDoubleHours(span) / 24);
}

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string Rfc3339(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", FromProto(time), absl::UTCTimeZone());
}

std::string NameOf(v1::SweepState state) {
  return state == v1::SWEEP_CANCELLED ? "cancelled" : Lower(v1::SweepState_Name(state), state);
}
std::string NameOf(v1::TrialState state) { return Lower(v1::TrialState_Name(state), state); }
std::string NameOf(v1::EndReason reason) {
  return reason == v1::BY_CANCEL ? "cancelled" : Lower(v1::EndReason_Name(reason), reason);
}
std::string NameOf(v1::Semantics semantics) { return Lower(v1::Semantics_Name(semantics), semantics); }
std::string NameOf(v1::CurvePoint::Status status) { return Lower(v1::CurvePoint::Status_Name(status), status); }
std::string NameOf(v1::CurvePoint::Certainty certainty) {
  return Lower(v1::CurvePoint::Certainty_Name(certainty), certainty);
}

std::string GoalText(const v1::Goal& goal) {
  absl::string_view sign = "<";
  if (goal.comparison() == v1::Goal::LESS_OR_EQUAL) sign = "<=";
  if (goal.comparison() == v1::Goal::GREATER) sign = ">";
  if (goal.comparison() == v1::Goal::GREATER_OR_EQUAL) sign = ">=";
  return absl::StrCat(goal.metric(), " ", sign, " ", FormatReal(goal.threshold()));
}

std::string GridText(const v1::EvaluationGrid& grid) {
  EvaluationGrid plain;
  switch (grid.kind_case()) {
    case v1::EvaluationGrid::kGeometric:
      plain.ratio_millionths = grid.geometric().ratio_millionths();
      plain.first = grid.geometric().first();
      break;
    case v1::EvaluationGrid::kEvery:
      plain.kind = EvaluationGrid::Kind::kEvery;
      plain.every = grid.every();
      break;
    case v1::EvaluationGrid::kAt:
      plain.kind = EvaluationGrid::Kind::kAt;
      plain.at.assign(grid.at().steps().begin(), grid.at().steps().end());
      break;
    default:
      return "";
  }
  return DescribeGrid(plain);
}

std::string SpaceText(const v1::SpaceEntry& entry) {
  std::string text = absl::StrCat(entry.name(), " ");
  switch (entry.kind_case()) {
    case v1::SpaceEntry::kFixed:
      absl::StrAppend(&text, FormatReal(entry.fixed()));
      break;
    case v1::SpaceEntry::kValues:
      if (entry.values().values().empty()) return entry.name();  // Its values are those of the points.
      absl::StrAppend(
          &text, "{",
          absl::StrJoin(entry.values().values(), ", ", [](std::string* out, double v) { out->append(FormatReal(v)); }),
          "}");
      break;
    case v1::SpaceEntry::kRange:
      absl::StrAppend(&text, FormatReal(entry.range().min()), "..", FormatReal(entry.range().max()));
      if (!entry.range().scale().empty()) absl::StrAppend(&text, " ", entry.range().scale());
      if (entry.range().integer()) absl::StrAppend(&text, " integer");
      if (entry.range().count() != 0) absl::StrAppend(&text, " in ", entry.range().count());
      break;
    default:
      break;
  }
  switch (entry.times().by_case()) {
    case v1::Times::kBudget:
      return text + " x budget";
    case v1::Times::kBatchSize:
      return absl::StrCat(text, " x (batch size / ", entry.times().batch_size().at(), ")^",
                          FormatReal(entry.times().batch_size().power()));
    case v1::Times::kParameter:
      return absl::StrCat(text, " x ", entry.times().parameter());
    default:
      return text;
  }
}

std::string WaitingText(const v1::Study& study) {
  switch (study.waiting_for()) {
    case v1::SLOTS:
      return "every fitting slot is busy";
    case v1::WORKER:
      return "no worker is connected";
    case v1::WORKER_WITHOUT_DATASET:
      return absl::StrCat("no connected worker has data set ", study.missing());
    case v1::WORKER_WITHOUT_MODEL:
      return absl::StrCat("no connected worker has ", study.missing().empty() ? "the model" : study.missing());
    case v1::WORKER_WITHOUT_DEVICE:
      return "no connected slot has the device, the devices or the memory";
    case v1::CAP:
      return "the sweep is at max_running";
    case v1::SWEEP_PAUSED:
      return "the sweep is paused";
    default:
      return "";
  }
}

int64_t Ended(const v1::StateCounts& counts) {
  return counts.complete() + counts.infeasible() + counts.stopped() + counts.failed() + counts.cancelled();
}

int64_t Total(const v1::StateCounts& counts) { return Ended(counts) + counts.queued() + counts.running(); }

}  // namespace stepcurve
