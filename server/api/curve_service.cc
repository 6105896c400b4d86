// SPDX-License-Identifier: Apache-2.0
#include "server/api/curve_service.h"

#include <utility>
#include <vector>

#include "proto/channel/grpc_status.h"
#include "proto/support/status_macros.h"
#include "server/api/curve_answer.h"
#include "server/api/curve_request.h"

namespace stepcurve {

CurveServiceImpl::CurveServiceImpl(CurveStore* curves) : curves_(curves) {}

grpc::Status CurveServiceImpl::GetCurve(grpc::ServerContext*, const v1::GetCurveRequest* request,
                                        v1::GetCurveResponse* response) {
  absl::StatusOr<v1::GetCurveResponse> answer = Answer(*request);
  if (!answer.ok()) return ToGrpc(answer.status());
  *response = *std::move(answer);
  return grpc::Status::OK;
}

absl::StatusOr<v1::GetCurveResponse> CurveServiceImpl::Answer(const v1::GetCurveRequest& request) {
  STEPCURVE_ASSIGN_OR_RETURN(const CurveQuery query, ParseCurveRequest(request));
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<CurveStudy> studies, curves_->Studies(query.workload));
  if (studies.empty()) return UnknownWorkload(*curves_, query.workload);
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<CurveScope> scopes, ChooseStudies(query, std::move(studies)));
  v1::GetCurveResponse response;
  for (const Goal& goal : query.goals) {
    for (const CurveScope& scope : scopes) {
      STEPCURVE_ASSIGN_OR_RETURN(*response.add_curves(), AnswerCurve(*curves_, query, scope, goal));
    }
  }
  return response;
}

}  // namespace stepcurve
