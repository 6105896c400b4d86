// SPDX-License-Identifier: Apache-2.0
//
// Rows of the store as the contract's messages. Total.
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "server/api/waiting_for.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/sweep.pb.h"
#include "stepcurve/v1/trial.pb.h"

namespace stepcurve {

google::protobuf::Timestamp TimestampProto(absl::Time time);
google::protobuf::Duration DurationProto(double seconds);

v1::Sweep ToProto(const SweepRow& sweep);
v1::Study ToProto(const StudyRow& study, const StudyWait& wait);
v1::Worker ToProto(const SessionRow& session);
v1::Attempt ToProto(const AttemptRow& attempt);

// Without best, steps_to_goal and attempts.
v1::Trial ToProto(const TrialRow& trial, const StudyRow& study);

}  // namespace stepcurve
