// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/commands.h"
#include "client/render/sweep_view.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

using Service = v1::SweepService::StubInterface;

absl::StatusOr<ExitStatus> PrintMetaparameters(Session& session, const std::string& workload) {
  STEPCURVE_ASSIGN_OR_RETURN(const v1::GetCatalogueResponse catalogue,
                             session.Call(&Service::GetCatalogue, v1::GetCatalogueRequest()));
  // dataset/model/optimizer[@variant].
  std::string optimizer = workload.substr(workload.rfind('/') + 1);
  optimizer = optimizer.substr(0, optimizer.find('@'));
  std::vector<std::string> known;
  for (const auto& row : catalogue.optimizers()) {
    if (row.name() == optimizer) {
      PrintParameters(row, session.format(), &session.out());
      return ExitStatus::kDone;
    }
    known.push_back(row.name());
  }
  return absl::InvalidArgumentError(absl::StrFormat("no optimizer \"%s\" (of workload %s); there are %s", optimizer,
                                                    workload, absl::StrJoin(known, ", ")));
}

}  // namespace

Action DefineWorkloads(CLI::App*) {
  return [](Session& session) -> absl::StatusOr<ExitStatus> {
    STEPCURVE_ASSIGN_OR_RETURN(const v1::ListWorkloadsResponse response,
                               session.Call(&Service::ListWorkloads, v1::ListWorkloadsRequest()));
    PrintWorkloads(response, session.format(), &session.out());
    return ExitStatus::kDone;
  };
}

Action DefineWorkers(CLI::App*) {
  return [](Session& session) -> absl::StatusOr<ExitStatus> {
    STEPCURVE_ASSIGN_OR_RETURN(const v1::ListWorkersResponse response,
                               session.Call(&Service::ListWorkers, v1::ListWorkersRequest()));
    PrintWorkers(response, session.Now(), session.format(), &session.out());
    return ExitStatus::kDone;
  };
}

Action DefineDatasets(CLI::App*) {
  return [](Session& session) -> absl::StatusOr<ExitStatus> {
    STEPCURVE_ASSIGN_OR_RETURN(const v1::GetCatalogueResponse response,
                               session.Call(&Service::GetCatalogue, v1::GetCatalogueRequest()));
    PrintDatasets(response, session.format(), &session.out());
    return ExitStatus::kDone;
  };
}

Action DefineMetaparameters(CLI::App* app) {
  const auto workload = std::make_shared<std::string>();
  app->add_option("WORKLOAD", *workload, "DATASET/MODEL/OPTIMIZER, or the optimizer alone")->required();
  return [workload](Session& session) { return PrintMetaparameters(session, *workload); };
}

}  // namespace stepcurve
