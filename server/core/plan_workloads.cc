// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_workloads.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/core/names.h"

namespace stepcurve {
namespace {

template <typename Row>
std::vector<std::string> NamesOf(absl::Span<const Row> rows, std::string Row::*name) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.*name);
  return names;
}

// Concrete names, of which the nearest can be shown where a family is a pattern.
std::vector<std::string> ModelNames() {
  return {"fc_64",           "fc_1024",         "fc_1024_1024",       "simple_cnn_base", "simple_cnn_narrow",
          "simple_cnn_wide", "noisy_quadratic", "noisy_quadratic_100"};
}

absl::StatusOr<Workload> PlanWorkload(const WorkloadSpec& spec, const std::string& path, const std::string& dataset,
                                      const std::string& model, const std::string& optimizer) {
  const DatasetRow* dataset_row = FindDataset(dataset);
  if (dataset_row == nullptr) {
    return UnknownName(path + ".dataset", "data set", dataset, NamesOf(Datasets(), &DatasetRow::name));
  }
  const ModelRow* model_row = FindModel(model);
  if (model_row == nullptr) return UnknownName(path + ".model", "model", model, ModelNames());
  if (FindOptimizer(optimizer) == nullptr) {
    return UnknownName(path + ".optimizer", "optimizer", optimizer, NamesOf(Optimizers(), &OptimizerRow::name));
  }
  if (std::find(model_row->tasks.begin(), model_row->tasks.end(), dataset_row->task) == model_row->tasks.end()) {
    return FieldError(path + ".model", absl::StrCat("model ", model, " cannot be trained on ", dataset));
  }
  Workload workload{.dataset = dataset, .model = model, .optimizer = optimizer, .variant = spec.variant};
  STEPCURVE_ASSIGN_OR_RETURN(workload.data,
                             PlanOptions(spec.data, dataset_row->options, "data set " + dataset, path + ".data"));
  STEPCURVE_ASSIGN_OR_RETURN(workload.options,
                             PlanOptions(spec.options, model_row->options, "model " + model, path + ".options"));
  return workload;
}

absl::Status CheckEntry(const WorkloadSpec& spec, const std::string& path) {
  if (spec.dataset.empty()) return FieldError(path + ".dataset", "is required: the name of a data set, or several");
  if (spec.model.empty()) return FieldError(path + ".model", "is required: the name of a model, or several");
  if (spec.optimizer.empty())
    return FieldError(path + ".optimizer", "is required: the name of an optimizer, or several");
  if (!spec.variant.empty() && !IsPlainName(spec.variant)) {
    return FieldError(path + ".variant", absl::StrCat("\"", spec.variant, "\" is no name; ", kPlainNameRule));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Workload>> PlanWorkloads(const std::vector<WorkloadSpec>& specs) {
  if (specs.empty()) return FieldError("workloads", "is required: at least one {dataset, model, optimizer}");
  std::vector<Workload> workloads;
  std::map<std::string, std::string> identities;  // To the path that made it.
  std::map<std::string, std::string> addresses;
  for (size_t i = 0; i < specs.size(); ++i) {
    const WorkloadSpec& spec = specs[i];
    const std::string path = absl::StrCat("workloads[", i, "]");
    STEPCURVE_RETURN_IF_ERROR(CheckEntry(spec, path));
    for (const std::string& dataset : spec.dataset) {
      for (const std::string& model : spec.model) {
        for (const std::string& optimizer : spec.optimizer) {
          STEPCURVE_ASSIGN_OR_RETURN(Workload workload, PlanWorkload(spec, path, dataset, model, optimizer));
          const std::string address = WorkloadAddress(workload);
          const auto [same, is_new] = identities.emplace(WorkloadIdentity(workload), path);
          if (!is_new) return FieldError(path, absl::StrCat(address, " is there already, in ", same->second));
          const auto [named, is_free] = addresses.emplace(address, path);
          if (!is_free) {
            return FieldError(path + ".variant",
                              absl::StrCat("is required: ", address, " with other options is in ", named->second));
          }
          workloads.push_back(std::move(workload));
        }
      }
    }
  }
  return workloads;
}

absl::StatusOr<std::vector<Option>> PlanOptions(const std::vector<Option>& given, const std::vector<OptionRow>& rows,
                                                const std::string& owner, const std::string& path) {
  std::vector<Option> differing;
  for (size_t i = 0; i < given.size(); ++i) {
    Option option = given[i];
    const std::string option_path = absl::StrCat(path, ".", option.name);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& r) { return r.name == option.name; });
    if (row == rows.end()) {
      return FieldError(
          option_path,
          rows.empty() ? absl::StrCat(owner, " takes no options")
                       : absl::StrCat(owner, " has no option ", option.name, " (it has ",
                                      absl::StrJoin(NamesOf(absl::MakeConstSpan(rows), &OptionRow::name), ", "), ")"));
    }
    if (std::any_of(given.begin(), given.begin() + static_cast<int64_t>(i),
                    [&](const Option& other) { return other.name == option.name; })) {
      return FieldError(option_path, "is there twice");
    }
    if (std::holds_alternative<double>(row->default_value) && std::holds_alternative<int64_t>(option.value)) {
      option.value = static_cast<double>(std::get<int64_t>(option.value));
    }
    if (option.value.index() != row->default_value.index()) {
      constexpr absl::string_view kTypes[] = {"true or false", "a whole number", "a number", "text"};
      return FieldError(option_path,
                        absl::StrCat("must be ", kTypes[row->default_value.index()], " (", row->allowed, ")"));
    }
    if (option.value != row->default_value) differing.push_back(std::move(option));
  }
  std::sort(differing.begin(), differing.end(), [](const Option& a, const Option& b) { return a.name < b.name; });
  return differing;
}

}  // namespace stepcurve
