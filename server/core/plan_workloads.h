// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "proto/support/catalogue.h"
#include "server/core/sweep_spec.h"

namespace stepcurve {

// The workloads of a sweep in the file's order, lists multiplied: data sets outermost, optimizers innermost.
absl::StatusOr<std::vector<Workload>> PlanWorkloads(const std::vector<WorkloadSpec>& specs);

// Options that differ from the defaults of `rows`, sorted by name: what makes an identity. A whole number is taken
// where the row holds a number with decimals. `owner`: "data set mnist". `path`: "workloads[0].data".
absl::StatusOr<std::vector<Option>> PlanOptions(const std::vector<Option>& given, const std::vector<OptionRow>& rows,
                                                const std::string& owner, const std::string& path);

// The batch sizes of one workload, ascending. `training_examples` 0: no epochs, any size goes.
absl::StatusOr<std::vector<int64_t>> PlanBatchSizes(const BatchSizesSpec& spec, const std::string& path,
                                                    const std::string& dataset, int64_t training_examples);

}  // namespace stepcurve
