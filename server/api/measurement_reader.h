// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "server/api/trial_lookup.h"
#include "server/store/sweep_store.h"
#include "server/store/trial_store.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// Reads what StreamMeasurements sends, batch by batch: each Next is a short transaction, or none. Holds a few chunks at
// most. One thread.
class MeasurementReader final {
 public:
  // Checks the request and finds its trials.
  static absl::StatusOr<std::unique_ptr<MeasurementReader>> Open(SweepStore* sweeps, TrialStore* trials,
                                                                 const v1::StreamMeasurementsRequest& request);

  // Nothing after the last.
  absl::StatusOr<std::optional<v1::MeasurementBatch>> Next();

 private:
  struct Item {
    int64_t trial = 0;
    std::vector<std::string> metrics;  // Of its study, in the order of chunks.
    std::vector<size_t> wanted;        // Indices of those sent.
  };
  MeasurementReader(TrialStore* trials, bool superseded) : trials_(trials), superseded_(superseded) {}

  TrialStore* const trials_;
  const bool superseded_;
  std::deque<Item> items_;  // The first is being read.
  std::deque<ChunkRow> chunks_;
  int64_t after_attempt_ = 0;
  int64_t after_step_ = -1;
};

}  // namespace stepcurve
