// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/render/rows.h"
#include "stepcurve/v1/trial.pb.h"

namespace stepcurve {

// How trials are listed: one row a trial, every parameter as a column.
struct TrialColumns {
  // The metric whose best value is shown; empty for none.
  std::string metric;
  std::vector<std::string> parameters;
  // Whether a goal was asked for, whose first crossing is shown.
  bool goal = false;

  std::vector<Column> Columns() const;
  Row RowOf(const v1::Trial& trial) const;
};

// One trial with its attempts; in CSV one row as in a list.
void PrintTrial(const v1::Trial& trial, Format format, std::ostream* out);

// Prints measurements as they come, one row a step with a column per metric. Not for tables alone: the columns are
// those of the first batch.
class MeasurementPrinter final {
 public:
  MeasurementPrinter(Format format, std::ostream* out) : format_(format), out_(out) {}

  // FAILED_PRECONDITION when the batch has a metric that the first one had not.
  absl::Status Print(const v1::MeasurementBatch& batch);

 private:
  const Format format_;
  std::ostream* const out_;  // Not owned; outlives the printer.
  std::vector<std::string> metrics_;
  std::optional<RowPrinter> rows_;
};

}  // namespace stepcurve
