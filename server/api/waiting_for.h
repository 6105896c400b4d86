// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/types/span.h"
#include "server/core/study_definition.h"
#include "server/store/session_store.h"
#include "server/store/sweep_store.h"
#include "stepcurve/v1/sweep.pb.h"

namespace stepcurve {

struct StudyWait {
  v1::WaitingFor why = v1::NOTHING;
  std::string missing;  // Data set, model or optimizer that no connected worker has.
};

// Why nothing of a study is running, told by what stands nearest in its way: NOTHING unless it has queued trials and
// none running. `live`: the connected sessions.
StudyWait WhyWaiting(const StudyRow& study, const SweepRow& sweep, absl::Span<const SessionRow> live);

// Connected workers with a slot that some of the studies fits, and those slots.
struct FittingSlots {
  int64_t workers = 0;
  int64_t slots = 0;
};
FittingSlots CountFitting(absl::Span<const StudyDefinition* const> studies, absl::Span<const SessionRow> live);

}  // namespace stepcurve
