// SPDX-License-Identifier: Apache-2.0
#include "server/api/progress.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/api/row_to_proto.h"
#include "server/api/waiting_for.h"

namespace stepcurve {

absl::StatusOr<v1::Progress> ReadProgress(SweepStore& sweeps, SessionStore& sessions, int64_t sweep) {
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow row, sweeps.Find(absl::StrCat(sweep)));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<StudyRow> studies, sweeps.Studies(sweep));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<SessionRow> live, sessions.Live());
  v1::Progress progress;
  *progress.mutable_sweep() = ToProto(row);
  for (const StudyRow& study : studies) {
    *progress.add_studies() = ToProto(study, WhyWaiting(study, row, live));
  }
  return progress;
}

void EndingRate::Stamp(absl::Time now, v1::Progress& progress) {
  const v1::StateCounts& counts = progress.sweep().counts();
  const int64_t open = counts.queued() + counts.running();
  const int64_t ended =
      counts.complete() + counts.infeasible() + counts.stopped() + counts.failed() + counts.cancelled();
  while (!ended_.empty() && ended_.front().first < now - absl::Minutes(1)) ended_.pop_front();
  ended_.emplace_back(now, ended);

  const double seconds = absl::ToDoubleSeconds(now - ended_.front().first);
  const double rate = seconds > 0 ? static_cast<double>(ended - ended_.front().second) / seconds : 0;
  *progress.mutable_time() = TimestampProto(now);
  progress.set_trials_per_second(rate);
  const bool known = progress.sweep().state() == v1::ACTIVE && rate > 0;
  progress.set_seconds_left(known ? static_cast<double>(open) / rate : -1);
}

bool IsOver(const v1::Progress& progress) {
  return progress.sweep().state() == v1::DONE || progress.sweep().state() == v1::SWEEP_CANCELLED;
}

}  // namespace stepcurve
