// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/render/rows.h"
#include "stepcurve/v1/sweep_service.pb.h"

namespace stepcurve {

// One row per sweep.
std::vector<Column> SweepColumns();
Row SweepRow(const v1::Sweep& sweep, absl::Time now);

// A sweep with its studies: in JSON one object with a list of studies, in CSV one row per study.
void PrintSweep(const v1::Sweep& sweep, const std::vector<v1::Study>& studies, Format format, std::ostream* out);

void PrintWorkloads(const v1::ListWorkloadsResponse& workloads, Format format, std::ostream* out);
// One row per worker and class of alike slots.
void PrintWorkers(const v1::ListWorkersResponse& workers, absl::Time now, Format format, std::ostream* out);
void PrintDatasets(const v1::GetCatalogueResponse& catalogue, Format format, std::ostream* out);
void PrintParameters(const v1::GetCatalogueResponse::Optimizer& optimizer, Format format, std::ostream* out);

}  // namespace stepcurve
