// SPDX-License-Identifier: Apache-2.0
#include "server/api/sweep_handlers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "google/protobuf/util/json_util.h"
#include "proto/support/status_macros.h"
#include "server/api/page_token.h"
#include "server/api/request_checks.h"
#include "server/api/row_to_proto.h"
#include "server/api/waiting_for.h"
#include "server/core/canonical_text.h"
#include "server/core/field_error.h"
#include "server/core/plan_sweep.h"
#include "server/wire/spec_from_proto.h"
#include "server/wire/study_to_proto.h"

namespace stepcurve {
namespace {

constexpr size_t kMaxSpecBytes = 32u << 20;
constexpr size_t kMaxRequestIdBytes = 128;
constexpr size_t kMaxCreatorBytes = 256;

absl::Status CheckRequestId(const v1::CreateSweepRequest& request) {
  const std::string& id = request.request_id();
  if (id.empty() && request.validate_only()) return absl::OkStatus();
  const auto allowed = [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; };
  if (id.empty() || id.size() > kMaxRequestIdBytes || !std::all_of(id.begin(), id.end(), allowed)) {
    return FieldError("request_id", absl::StrFormat("is %d bytes long; it must be 1 to %d characters of [A-Za-z0-9._-]",
                                                    id.size(), kMaxRequestIdBytes));
  }
  return absl::OkStatus();
}

absl::Status CheckCreator(const std::string& creator) {
  if (creator.size() > kMaxCreatorBytes) {
    return FieldError("creator",
                      absl::StrFormat("is %d bytes long; at most %d are allowed", creator.size(), kMaxCreatorBytes));
  }
  if (absl::StrContains(creator, '\0')) {
    return FieldError("creator", "has a NUL character; none is allowed");
  }
  return absl::OkStatus();
}

// For people with a SQL client; the binary form is what counts.
absl::StatusOr<std::string> JsonOf(const v1::SweepSpec& spec) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(spec, &json, options).ok()) {
    return absl::InternalError("a spec that was accepted has no JSON form");
  }
  // PostgreSQL stores no NUL, in text or in JSON.
  if (absl::StrContains(json, "\\u0000")) {
    return absl::InvalidArgumentError("the sweep's texts have a NUL character; none is allowed");
  }
  return json;
}

}  // namespace

absl::StatusOr<v1::CreateSweepResponse> SweepHandlers::CreateSweep(const v1::CreateSweepRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckRequestId(request));
  STEPCURVE_RETURN_IF_ERROR(CheckCreator(request.creator()));
  if (const size_t bytes = request.spec().ByteSizeLong(); bytes > kMaxSpecBytes) {
    return FieldError("spec", absl::StrFormat("is %d bytes long; at most %d are allowed", bytes, kMaxSpecBytes));
  }
  STEPCURVE_ASSIGN_OR_RETURN(const SweepSpec spec, SpecFromProto(request.spec()));
  STEPCURVE_ASSIGN_OR_RETURN(const SweepPlan plan, PlanSweep(spec));
  STEPCURVE_ASSIGN_OR_RETURN(std::string json, JsonOf(request.spec()));

  v1::CreateSweepResponse response;
  STEPCURVE_ASSIGN_OR_RETURN(*response.mutable_plan(), Plan(plan));
  if (request.validate_only()) return response;

  const absl::StatusOr<SweepStore::Created> created = sweeps_->Create(plan, {.request_id = request.request_id(),
                                                                             .creator = request.creator(),
                                                                             .digest = SpecDigest(spec),
                                                                             .spec = request.spec().SerializeAsString(),
                                                                             .spec_json = std::move(json)});
  if (!created.ok()) return WithDifference(created.status(), plan, spec, request.request_id());
  *response.mutable_sweep() = ToProto(created->sweep);
  response.set_created(created->created);
  return response;
}

absl::StatusOr<v1::SweepPlan> SweepHandlers::Plan(const SweepPlan& plan) {
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<SessionRow> live, sessions_->Live());
  std::vector<const StudyDefinition*> studies;
  for (const StudyPlan& study : plan.studies) studies.push_back(&study.definition);
  const FittingSlots fitting = CountFitting(studies, live);
  v1::SweepPlan message = SweepPlanToProto(plan);
  message.set_fitting_workers(fitting.workers);
  message.set_fitting_slots(fitting.slots);
  return message;
}

absl::Status SweepHandlers::WithDifference(const absl::Status& status, const SweepPlan& plan, const SweepSpec& spec,
                                           const std::string& request_id) {
  if (status.code() != absl::StatusCode::kAlreadyExists) return status;
  const absl::StatusOr<SweepRow> sweep = sweeps_->Find(plan.name);
  // Where the request id is what is taken, the store has said all.
  if (!sweep.ok() || sweep->request_id == request_id) return status;
  const absl::StatusOr<std::string> stored = sweeps_->Spec(sweep->id);
  v1::SweepSpec message;
  if (!stored.ok() || !message.ParseFromString(*stored)) return status;
  const absl::StatusOr<SweepSpec> old = SpecFromProto(message);
  if (!old.ok()) return status;
  const std::string difference = FirstDifference(*old, spec);
  if (difference.empty()) return status;
  absl::Status named = absl::AlreadyExistsError(absl::StrFormat(
      "a sweep named \"%s\" exists with another %s (sweep %d, submitted %s%s); a different %s is a different sweep: "
      "choose a new name",
      plan.name, difference, sweep->id, absl::FormatTime("%Y-%m-%d %H:%M UTC", sweep->create_time, absl::UTCTimeZone()),
      sweep->creator.empty() ? "" : absl::StrCat(" by ", sweep->creator), difference));
  named.SetPayload(kFieldPayload, absl::Cord("name"));
  return named;
}

absl::StatusOr<v1::GetSweepResponse> SweepHandlers::GetSweep(const v1::GetSweepRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, sweeps_->Find(request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<StudyRow> studies, sweeps_->Studies(sweep.id));
  STEPCURVE_ASSIGN_OR_RETURN(const std::vector<SessionRow> live, sessions_->Live());
  STEPCURVE_ASSIGN_OR_RETURN(const std::string spec, sweeps_->Spec(sweep.id));
  v1::GetSweepResponse response;
  *response.mutable_sweep() = ToProto(sweep);
  for (const StudyRow& study : studies) {
    *response.add_studies() = ToProto(study, WhyWaiting(study, sweep, live));
  }
  if (!response.mutable_spec()->ParseFromString(spec)) {
    return absl::DataLossError(absl::StrFormat("the stored spec of sweep %s cannot be read", sweep.name));
  }
  if (request.resolved()) {
    STEPCURVE_ASSIGN_OR_RETURN(*response.mutable_resolved(), sweeps_->Resolved(sweep.id));
  }
  return response;
}

absl::StatusOr<v1::ListSweepsResponse> SweepHandlers::ListSweeps(const v1::ListSweepsRequest& request) {
  SweepStore::Filter filter;
  if (!request.tag().empty()) {
    STEPCURVE_RETURN_IF_ERROR(CheckName("tag", request.tag()));
    filter.tag = request.tag();
  }
  if (request.state() != v1::SWEEP_STATE_UNSPECIFIED) {
    const auto state = FromProto(request.state());
    if (!state.has_value()) {
      return FieldError("state", absl::StrFormat("is %d, which is no sweep state", static_cast<int>(request.state())));
    }
    filter.state = *state;
  }
  STEPCURVE_ASSIGN_OR_RETURN(const int64_t page_size, PageSize(request.page_size()));
  v1::ListSweepsRequest list = request;
  list.clear_page_size();
  list.clear_page_token();
  if (!request.page_token().empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(const std::vector<int64_t> place, PlaceOf(request.page_token(), list, 1));
    filter.before = place[0];
  }
  filter.limit = page_size + 1;
  STEPCURVE_ASSIGN_OR_RETURN(std::vector<SweepRow> rows, sweeps_->List(filter));
  v1::ListSweepsResponse response;
  if (static_cast<int64_t>(rows.size()) > page_size) {
    rows.resize(page_size);
    response.set_next_page_token(PageToken(list, {rows.back().id}));
  }
  for (const SweepRow& row : rows) *response.add_sweeps() = ToProto(row);
  return response;
}

absl::StatusOr<v1::PauseSweepResponse> SweepHandlers::PauseSweep(const v1::PauseSweepRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, sweeps_->Pause(request.sweep()));
  v1::PauseSweepResponse response;
  *response.mutable_sweep() = ToProto(sweep);
  return response;
}

absl::StatusOr<v1::ResumeSweepResponse> SweepHandlers::ResumeSweep(const v1::ResumeSweepRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, sweeps_->Resume(request.sweep()));
  v1::ResumeSweepResponse response;
  *response.mutable_sweep() = ToProto(sweep);
  return response;
}

absl::StatusOr<v1::CancelSweepResponse> SweepHandlers::CancelSweep(const v1::CancelSweepRequest& request) {
  STEPCURVE_RETURN_IF_ERROR(CheckName("sweep", request.sweep()));
  STEPCURVE_ASSIGN_OR_RETURN(const SweepRow sweep, sweeps_->Cancel(request.sweep()));
  v1::CancelSweepResponse response;
  *response.mutable_sweep() = ToProto(sweep);
  return response;
}

}  // namespace stepcurve
