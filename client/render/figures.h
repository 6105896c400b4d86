// SPDX-License-Identifier: Apache-2.0
//
// Numbers, times and names of states as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "stepcurve/v1/curve_service.pb.h"
#include "stepcurve/v1/sweep.pb.h"
#include "stepcurve/v1/trial.pb.h"

namespace stepcurve {

std::string Grouped(int64_t n);  // "21,684"

// Three digits and a unit: "302", "43.4 k", "8.07 M". `gap` stands between the two.
std::string Short(double value, absl::string_view gap = " ");

std::string Value(double value);  // Four significant digits.

std::string Span(absl::Duration span);  // The largest fitting unit: "45 s", "2 min", "3 h", "2 d".

absl::Time FromProto(const google::protobuf::Timestamp& time);
std::string Rfc3339(const google::protobuf::Timestamp& time);  // In UTC; empty for a time that is not set.

// Lower-case names as commands take and print them: "active", "infeasible", "exact_stop", "not_reached", "final".
// Empty for the unspecified value.
std::string NameOf(v1::SweepState state);
std::string NameOf(v1::TrialState state);
std::string NameOf(v1::EndReason reason);
std::string NameOf(v1::Semantics semantics);
std::string NameOf(v1::CurvePoint::Status status);
std::string NameOf(v1::CurvePoint::Certainty certainty);

// "val/classification_error < 0.1".
std::string GoalText(const v1::Goal& goal);

// "geometric 1.05".
std::string GridText(const v1::EvaluationGrid& grid);

// "learning_rate 1e-4..10 log", "weight_decay 1e-4", "label_smoothing {0, 0.1}".
std::string SpaceText(const v1::SpaceEntry& entry);

// Why nothing of a study is running, as a part of a sentence: "no connected worker has data set imagenet". Empty when
// it is not waiting.
std::string WaitingText(const v1::Study& study);

int64_t Ended(const v1::StateCounts& counts);
int64_t Total(const v1::StateCounts& counts);

}  // namespace stepcurve
