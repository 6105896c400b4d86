// SPDX-License-Identifier: Apache-2.0
#include "server/fleet/to_proto.h"

#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

v1::Standing::Verdict ToProto(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHeld:
      return v1::Standing::HELD;
    case Verdict::kEnded:
      return v1::Standing::ENDED;
    case Verdict::kLost:
      return v1::Standing::LOST;
  }
  return v1::Standing::VERDICT_UNSPECIFIED;
}

}  // namespace

v1::Standing ToProto(const Standing& standing) {
  v1::Standing result;
  result.set_trial(standing.trial);
  result.set_attempt(standing.attempt);
  result.set_persisted_step(standing.persisted_step);
  result.set_verdict(ToProto(standing.verdict));
  result.set_state(ToProto(standing.state));
  result.set_reason(standing.reason);
  return result;
}

v1::Assignment ToProto(const Grant& grant) {
  v1::Assignment result;
  result.set_trial(grant.trial);
  result.set_attempt(grant.attempt);
  result.set_study(grant.study);
  result.set_number(grant.number);
  result.set_repeat(grant.repeat);
  result.set_training_seed(grant.training_seed);
  result.set_slot_class(grant.slot_class);
  result.mutable_parameters()->Add(grant.parameters.begin(), grant.parameters.end());
  result.set_strand(grant.strand);
  result.set_persisted_step(grant.persisted_step);
  return result;
}

google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration result;
  absl::Duration rest;
  result.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  result.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return result;
}

}  // namespace stepcurve
