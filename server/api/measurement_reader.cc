// SPDX-License-Identifier: Apache-2.0
#include "server/api/measurement_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/support/status_macros.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

constexpr int kMaxTrials = 1000;
constexpr int kChunksAtATime = 8;

}  // namespace

absl::StatusOr<std::unique_ptr<MeasurementReader>> MeasurementReader::Open(
    SweepStore* sweeps, TrialStore* trials, const v1::StreamMeasurementsRequest& request) {
  if (request.trials_size() < 1 || request.trials_size() > kMaxTrials) {
    return FieldError("trials",
                      absl::StrFormat("has %d entries; it must have 1 to %d", request.trials_size(), kMaxTrials));
  }
  std::unique_ptr<MeasurementReader> reader(new MeasurementReader(trials, request.superseded()));
  TrialLookup lookup(sweeps, trials, request.sweep(), request.workload());
  for (int i = 0; i < request.trials_size(); ++i) {
    STEPCURVE_ASSIGN_OR_RETURN(const FoundTrial found, lookup.Find(absl::StrCat("trials[", i, "]"), request.trials(i)));
    Item item{.trial = found.trial.id, .metrics = found.study.definition.metrics};
    for (size_t m = 0; m < item.metrics.size(); ++m) {
      if (request.metric().empty() || request.metric() == item.metrics[m]) item.wanted.push_back(m);
    }
    if (item.wanted.empty()) {
      return FieldError("metric", absl::StrFormat("is %s, which trial %s does not have; it has: %s", request.metric(),
                                                  request.trials(i), absl::StrJoin(item.metrics, ", ")));
    }
    reader->items_.push_back(std::move(item));
  }
  return reader;
}

absl::StatusOr<std::optional<v1::MeasurementBatch>> MeasurementReader::Next() {
  while (!items_.empty()) {
    const Item& item = items_.front();
    if (chunks_.empty()) {
      STEPCURVE_ASSIGN_OR_RETURN(std::vector<ChunkRow> chunks,
                                 trials_->Chunks(item.trial, after_attempt_, after_step_, kChunksAtATime));
      if (chunks.empty()) {
        items_.pop_front();
        after_attempt_ = 0;
        after_step_ = -1;
        continue;
      }
      after_attempt_ = chunks.back().attempt;
      after_step_ = chunks.back().steps.back();
      std::move(chunks.begin(), chunks.end(), std::back_inserter(chunks_));
    }
    const ChunkRow chunk = std::move(chunks_.front());
    chunks_.pop_front();
    if (chunk.superseded && !superseded_) continue;

    v1::MeasurementBatch batch;
    batch.set_trial(item.trial);
    batch.set_attempt(chunk.attempt);
    batch.set_superseded(chunk.superseded);
    for (const size_t m : item.wanted) batch.add_metrics(item.metrics[m]);
    const size_t points = chunk.steps.size();
    for (size_t p = 0; p < points; ++p) {
      v1::Measurement* measurement = batch.add_measurements();
      measurement->set_step(chunk.steps[p]);
      for (const size_t m : item.wanted) measurement->add_values(chunk.values[m * points + p]);
    }
    return batch;
  }
  return std::nullopt;
}

}  // namespace stepcurve
