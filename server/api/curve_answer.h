// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/support/goal.h"
#include "server/api/curve_request.h"
#include "server/store/curve_store.h"
#include "stepcurve/v1/curve_service.pb.h"

namespace stepcurve {

// One curve: reads the envelopes of its studies, asks the analysis, and describes what it was taken over.
absl::StatusOr<v1::Curve> AnswerCurve(CurveStore& curves, const CurveQuery& query, const CurveScope& scope,
                                      const Goal& goal);

// NOT_FOUND with the nearest addresses that there are.
absl::Status UnknownWorkload(CurveStore& curves, const std::string& workload);

}  // namespace stepcurve
