// SPDX-License-Identifier: Apache-2.0
#include "server/api/registry_handlers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "proto/support/catalogue.h"
#include "proto/support/status_macros.h"
#include "server/api/row_to_proto.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

const char* Name(Task task) {
  switch (task) {
    case Task::kClassification:
      return "classification";
    case Task::kQuadratic:
      return "quadratic";
  }
  return "";
}

}  // namespace

absl::StatusOr<v1::ListWorkloadsResponse> RegistryHandlers::ListWorkloads() {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<WorkloadRow> workloads, sweeps_->Workloads());
  v1::ListWorkloadsResponse response;
  for (const WorkloadRow& row : workloads) {
    v1::ListWorkloadsResponse::Entry* entry = response.add_workloads();
    *entry->mutable_workload() = ToProto(row.workload, row.id);
    entry->mutable_workload()->set_address(row.address);
    for (const int64_t size : row.batch_sizes) entry->add_batch_sizes(size);
    for (const std::string& sweep : row.sweeps) entry->add_sweeps(sweep);
    for (const std::string& metric : row.metrics) entry->add_metrics(metric);
  }
  return response;
}

absl::StatusOr<v1::ListWorkersResponse> RegistryHandlers::ListWorkers() {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<SessionRow> sessions, sessions_->List(absl::Hours(24)));
  v1::ListWorkersResponse response;
  for (const SessionRow& session : sessions) *response.add_workers() = ToProto(session);
  return response;
}

absl::StatusOr<v1::GetCatalogueResponse> RegistryHandlers::GetCatalogue() {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<SessionRow> live, sessions_->Live());
  std::map<std::string, int64_t> workers;
  for (const SessionRow& session : live) {
    for (const DatasetOffer& dataset : session.can_run.datasets) ++workers[dataset.name];
  }

  v1::GetCatalogueResponse response;
  for (const DatasetRow& row : Datasets()) {
    v1::GetCatalogueResponse::Dataset* dataset = response.add_datasets();
    dataset->set_name(row.name);
    dataset->set_task(Name(row.task));
    dataset->set_train_examples(row.train_examples);
    dataset->set_val_examples(row.val_examples);
    dataset->set_test_examples(row.test_examples);
    for (const std::string& metric : Metrics(Workload{.dataset = row.name})) dataset->add_metrics(metric);
    dataset->set_workers(workers[row.name]);
  }
  for (const ModelRow& row : Models()) {
    v1::GetCatalogueResponse::Model* model = response.add_models();
    model->set_name(row.pattern);
    model->set_description(row.description);
    for (const Task task : row.tasks) model->add_tasks(Name(task));
  }
  for (const OptimizerRow& row : Optimizers()) {
    v1::GetCatalogueResponse::Optimizer* optimizer = response.add_optimizers();
    optimizer->set_name(row.name);
    for (const ParameterRow& parameter : row.parameters) {
      v1::GetCatalogueResponse::Parameter* message = optimizer->add_parameters();
      message->set_name(parameter.name);
      message->set_domain(parameter.Domain());
      if (parameter.default_value.has_value()) message->set_default_value(*parameter.default_value);
      message->set_required(parameter.required);
    }
  }
  return response;
}

}  // namespace stepcurve
