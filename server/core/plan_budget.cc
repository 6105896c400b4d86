// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_budget.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/goal.h"
#include "proto/support/status_macros.h"
#include "server/core/decimal.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

absl::Status CheckSteps(int64_t steps, const std::string& path) {
  if (steps < 1) return FieldError(path, absl::StrCat("is ", steps, "; it must be at least 1"));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> FromEpochs(double epochs, const std::string& path, const StudyKey& study) {
  if (study.training_examples == 0) {
    return FieldError(path, absl::StrCat(study.workload->dataset, " has no epochs; write steps or per_batch_size"));
  }
  if (!(epochs > 0) || !std::isfinite(epochs)) {
    return FieldError(path, absl::StrCat("is ", FormatDouble(epochs), "; it must be above 0"));
  }
  const auto steps = CeilOf(epochs, study.training_examples, study.batch_size);
  if (!steps.has_value()) {
    return FieldError(path, absl::StrCat(FormatDouble(epochs), " epochs are more than 2^63 - 1 steps at batch size ",
                                         study.batch_size));
  }
  return *steps;
}

absl::StatusOr<int64_t> FromTable(const std::vector<BudgetEntrySpec>& entries, const std::string& path,
                                  const StudyKey& study, const std::vector<int64_t>& batch_sizes) {
  std::optional<int64_t> found;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string entry_path = absl::StrCat(path, ".", entries[i].batch_size);
    STEPCURVE_RETURN_IF_ERROR(CheckSteps(entries[i].steps, entry_path));
    for (size_t j = 0; j < i; ++j) {
      if (entries[j].batch_size == entries[i].batch_size) return FieldError(entry_path, "is there twice");
    }
    if (std::find(batch_sizes.begin(), batch_sizes.end(), entries[i].batch_size) == batch_sizes.end()) {
      return FieldError(entry_path,
                        absl::StrCat(entries[i].batch_size, " is no batch size of ", WorkloadAddress(*study.workload),
                                     " (", absl::StrJoin(batch_sizes, ", "), ")"));
    }
    if (entries[i].batch_size == study.batch_size) found = entries[i].steps;
  }
  if (!found.has_value()) return FieldError(path, absl::StrCat("no entry for batch size ", study.batch_size));
  return *found;
}

absl::Status CheckBounds(const BudgetSpec& budget, const std::string& path) {
  if (budget.at_least.has_value()) STEPCURVE_RETURN_IF_ERROR(CheckSteps(*budget.at_least, path + ".at_least"));
  if (budget.at_most.has_value()) STEPCURVE_RETURN_IF_ERROR(CheckSteps(*budget.at_most, path + ".at_most"));
  if (budget.at_least.has_value() && budget.at_most.has_value() && *budget.at_least > *budget.at_most) {
    return FieldError(path + ".at_least",
                      absl::StrCat("is ", *budget.at_least, ", which is above at_most (", *budget.at_most, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> PlanBudget(const Placed<std::optional<BudgetSpec>>& placed, const StudyKey& study,
                                   const std::vector<int64_t>& batch_sizes) {
  const BudgetSpec budget = placed.value.value_or(BudgetSpec{});
  const std::string& path = placed.path;
  const int kinds = budget.steps.has_value() + budget.epochs.has_value() + !budget.per_batch_size.empty();
  if (kinds == 0) return FieldError(path, "is required: steps, epochs or per_batch_size");
  if (kinds > 1) return FieldError(path, "has more than one of steps, epochs and per_batch_size; write one");
  STEPCURVE_RETURN_IF_ERROR(CheckBounds(budget, path));
  int64_t steps = 0;
  if (budget.steps.has_value()) {
    steps = *budget.steps;
    STEPCURVE_RETURN_IF_ERROR(CheckSteps(steps, path + ".steps"));
  } else if (budget.epochs.has_value()) {
    STEPCURVE_ASSIGN_OR_RETURN(steps, FromEpochs(*budget.epochs, path + ".epochs", study));
  } else {
    STEPCURVE_ASSIGN_OR_RETURN(steps, FromTable(budget.per_batch_size, path + ".per_batch_size", study, batch_sizes));
  }
  if (budget.at_least.has_value()) steps = std::max(steps, *budget.at_least);
  if (budget.at_most.has_value()) steps = std::min(steps, *budget.at_most);
  int64_t examples = 0;
  if (__builtin_mul_overflow(steps, study.batch_size, &examples)) {
    return FieldError(path,
                      absl::StrCat(steps, " steps of ", study.batch_size, " examples are more than 2^63 - 1 examples"));
  }
  return steps;
}

}  // namespace stepcurve
