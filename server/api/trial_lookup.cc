// SPDX-License-Identifier: Apache-2.0
#include "server/api/trial_lookup.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/support/status_macros.h"
#include "server/api/request_checks.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

// SimpleAtoi takes signs and spaces as well.
bool ParseDecimal(absl::string_view text, int64_t* value) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         absl::SimpleAtoi(text, value) && *value > 0;
}

}  // namespace

TrialLookup::TrialLookup(SweepStore* sweeps, TrialStore* trials, std::string sweep, std::string workload)
    : sweeps_(sweeps), trials_(trials), sweep_name_(std::move(sweep)), workload_(std::move(workload)) {}

absl::StatusOr<FoundTrial> TrialLookup::Find(absl::string_view field, absl::string_view reference) {
  STEPCURVE_RETURN_IF_ERROR(CheckName(field, reference));
  if (!sweep_name_.empty()) {
    STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", sweep_name_));
  }
  if (!workload_.empty()) {
    STEPCURVE_RETURN_IF_ERROR(CheckName("workload", workload_));
  }
  int64_t id = 0;
  if (ParseDecimal(reference, &id)) {
    return FindById(id);
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(reference, '/');
  int64_t batch_size = 0, number = 0;
  if (parts.size() != 2 || !ParseDecimal(parts[0], &batch_size) || !ParseDecimal(parts[1], &number)) {
    return FieldError(field,
                      absl::StrFormat("is \"%s\"; it must be a trial's id, as in 90412, or batch size and number "
                                      "within a sweep, as in 512/17",
                                      reference));
  }
  if (sweep_name_.empty()) {
    return FieldError("sweep", absl::StrFormat("is empty; \"%s\" says a trial only within a sweep", reference));
  }
  return FindByNumber(batch_size, number);
}

absl::StatusOr<FoundTrial> TrialLookup::FindById(int64_t id) {
  FoundTrial found;
  STEPCURVE_ASSIGN_OR_RETURN(found.trial, trials_->Get(id));
  STEPCURVE_ASSIGN_OR_RETURN(found.study, sweeps_->Study(found.trial.study));
  if (!sweep_name_.empty()) {
    STEPCURVE_RETURN_IF_ERROR(LoadSweep());
    if (found.study.sweep != sweep_) {
      return absl::NotFoundError(
          absl::StrFormat("trial %d is not one of sweep %s; by its number within a study it is "
                          "BATCH/NUMBER",
                          id, sweep_name_));
    }
  }
  return found;
}

absl::StatusOr<FoundTrial> TrialLookup::FindByNumber(int64_t batch_size, int64_t number) {
  STEPCURVE_RETURN_IF_ERROR(LoadSweep());
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<StudyRow> studies, StudiesOf(sweep_name_, studies_, workload_, batch_size));
  if (studies.size() > 1) {
    std::vector<std::string> addresses;
    for (const StudyRow& study : studies) addresses.push_back(study.address);
    return FieldError(
        "workload", absl::StrFormat("is empty; sweep %s has several: %s", sweep_name_, absl::StrJoin(addresses, ", ")));
  }
  absl::StatusOr<TrialRow> trial = trials_->Find(studies[0].id, number, 0);
  if (trial.status().code() == absl::StatusCode::kNotFound) {
    return absl::NotFoundError(absl::StrFormat("sweep %s has no trial %d/%d; that study has %d so far", sweep_name_,
                                               batch_size, number, studies[0].counts.total()));
  }
  STEPCURVE_RETURN_IF_ERROR(trial.status());
  return FoundTrial{.trial = *std::move(trial), .study = std::move(studies[0])};
}

absl::Status TrialLookup::LoadSweep() {
  if (sweep_ != 0) return absl::OkStatus();
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, sweeps_->Find(sweep_name_));
  STEPCURVE_ASSIGN_OR_RETURN(studies_, sweeps_->Studies(sweep.id));
  sweep_ = sweep.id;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StudyRow>> StudiesOf(absl::string_view sweep, std::vector<StudyRow> studies,
                                                absl::string_view workload, int64_t batch_size) {
  if (!workload.empty()) {
    std::set<std::string> addresses;
    for (const StudyRow& study : studies) addresses.insert(study.address);
    if (addresses.count(std::string(workload)) == 0) {
      return absl::NotFoundError(
          absl::StrFormat("sweep %s has no workload %s; it has: %s", sweep, workload, absl::StrJoin(addresses, ", ")));
    }
    studies.erase(std::remove_if(studies.begin(), studies.end(),
                                 [&](const StudyRow& study) { return study.address != workload; }),
                  studies.end());
  }
  if (batch_size > 0) {
    std::set<int64_t> sizes;
    for (const StudyRow& study : studies) sizes.insert(study.definition.batch_size);
    if (sizes.count(batch_size) == 0) {
      return absl::NotFoundError(
          absl::StrFormat("sweep %s has no batch size %d; it has: %s", sweep, batch_size, absl::StrJoin(sizes, ", ")));
    }
    studies.erase(std::remove_if(studies.begin(), studies.end(),
                                 [&](const StudyRow& study) { return study.definition.batch_size != batch_size; }),
                  studies.end());
  }
  return studies;
}

}  // namespace stepcurve
