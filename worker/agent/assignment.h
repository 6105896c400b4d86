// SPDX-License-Identifier: Apache-2.0
//
// Between the contract's messages and what runners understand.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "stepcurve/v1/study_definition.pb.h"
#include "stepcurve/v1/worker_service.pb.h"
#include "worker/run/trial_run.h"

namespace stepcurve {

// INVALID_ARGUMENT, naming the part, where the definition says what this build does not know or the two do not fit.
absl::StatusOr<TrialRun> TrialRunOf(const v1::StudyDefinition& study, const v1::Assignment& assignment);

// How a run ended; a stopped one is released for `why`. The log fills in the attempt and its last step.
v1::End EndOf(const RunEnd& end, v1::End::Released::Why why);

v1::End ReleasedEnd(v1::End::Released::Why why);

// At most 2,000 bytes of `message` travel.
v1::End FailedEnd(v1::End::Failure::Kind kind, const std::string& message);

}  // namespace stepcurve
