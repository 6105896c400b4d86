// SPDX-License-Identifier: Apache-2.0
#include "server/store/claim_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/support/status_macros.h"
#include "server/store/claim_grant.h"
#include "server/store/pg_array.h"
#include "server/store/pinned_plans.h"

namespace stepcurve {
namespace {

constexpr char kDefinitions[] = "SELECT id, definition::text FROM studies WHERE id = ANY ($1::bigint[])";

constexpr char kHeld[] = R"sql(
SELECT t.id, t.attempt, t.study_id, t.strand_id, y.sweep_id, t.number, t.repeat, t.training_seed, t.parameters,
       coalesce(t.slot_class, 0)
  FROM (SELECT DISTINCT x.id FROM grants g CROSS JOIN LATERAL unnest(g.trial_ids) x(id) WHERE g.session_id = $1) h
  JOIN trials t ON t.id = h.id
  JOIN studies y ON y.id = t.study_id
 WHERE t.session_id = $1 AND t.state = 'running'
 ORDER BY t.id)sql";

using Definitions = absl::flat_hash_map<int64_t, std::shared_ptr<const StudyDefinition>>;

absl::StatusOr<Definitions> ReadDefinitions(pqxx::transaction_base& transaction, const std::vector<int64_t>& studies) {
  Definitions definitions;
  for (const auto& row : transaction.exec_params(kDefinitions, ArrayText(studies))) {
    STEPCURVE_ASSIGN_OR_RETURN(StudyDefinition definition, StudyDefinitionFromJson(row[1].c_str()));
    definitions[row[0].as<int64_t>()] = std::make_shared<const StudyDefinition>(std::move(definition));
  }
  return definitions;
}

}  // namespace

ClaimStore::ClaimStore(Database* database) : database_(database) {}

absl::StatusOr<ClaimStore::Result> ClaimStore::Claim(const std::vector<Request>& requests) {
  std::vector<ClaimDemand> demands;
  std::vector<const ClaimSession*> sessions;  // Of each demand.
  for (const Request& request : requests) {
    for (const ClaimDemand& demand : request.demands) {
      if (demand.wanted > 0) {
        demands.push_back(demand);
        demands.back().session = request.session->session;
        sessions.push_back(request.session);
      }
    }
  }
  Result result;
  if (demands.empty()) {
    return result;
  }
  STEPCURVE_RETURN_IF_ERROR(database_->Transaction([&](pqxx::work& work) -> absl::Status {
    result = {};
    work.exec(kPinPlans);
    const ClaimCandidates::Result candidates = candidates_.Read(work);
    PlannedShares plan;
    absl::flat_hash_map<int64_t, int64_t> sweep_of_study;
    for (const ClaimableStrand& strand : candidates.strands) {
      plan.sweep_of_strand[strand.strand] = strand.sweep;
      sweep_of_study[strand.study] = strand.sweep;
    }
    STEPCURVE_ASSIGN_OR_RETURN(const Definitions definitions, Remember(work, sweep_of_study));
    const auto fits = [&](int64_t study, size_t demand) {
      const ClaimSession& session = *sessions[demand];
      const bool admitted = session.sweeps.empty() || std::find(session.sweeps.begin(), session.sweeps.end(),
                                                                sweep_of_study.at(study)) != session.sweeps.end();
      return admitted && CanRun(*definitions.at(study), session.can_run,
                                session.slot_classes.at(static_cast<size_t>(demands[demand].slot_class))) == Fit::kFits;
    };
    plan.shares = PlanClaims(demands, candidates.sweeps, candidates.strands, fits);
    if (plan.shares.empty()) {
      return absl::OkStatus();
    }
    for (const ClaimSession* session : sessions) {
      plan.sessions[session->session] = session;
    }
    STEPCURVE_ASSIGN_OR_RETURN(result, GrantShares(work, std::move(plan)));
    return absl::OkStatus();
  }));
  return result;
}

absl::StatusOr<ClaimStore::Definitions> ClaimStore::Remember(pqxx::transaction_base& transaction,
                                                             const absl::flat_hash_map<int64_t, int64_t>& studies) {
  Definitions known;
  std::vector<int64_t> unknown;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [study, sweep] : studies) {
      const auto found = definitions_.find(study);
      if (found == definitions_.end()) {
        unknown.push_back(study);
      } else {
        known.insert(*found);
      }
    }
  }
  if (!unknown.empty()) {
    STEPCURVE_ASSIGN_OR_RETURN(const Definitions read, ReadDefinitions(transaction, unknown));
    absl::MutexLock lock(&mu_);
    definitions_.insert(read.begin(), read.end());
    known.insert(read.begin(), read.end());
  }
  return known;
}

absl::StatusOr<std::shared_ptr<const StudyDefinition>> ClaimStore::Definition(int64_t study) {
  Definitions definitions;
  {
    absl::MutexLock lock(&mu_);
    if (const auto found = definitions_.find(study); found != definitions_.end()) {
      return found->second;
    }
  }
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& read) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(definitions, Remember(read, {{study, 0}}));
    return absl::OkStatus();
  }));
  const auto found = definitions.find(study);
  if (found == definitions.end()) {
    return absl::NotFoundError(absl::StrCat("there is no study ", study));
  }
  return found->second;
}

absl::StatusOr<std::vector<Grant>> ClaimStore::HeldBy(int64_t session) {
  std::vector<Grant> grants;
  STEPCURVE_RETURN_IF_ERROR(database_->Read([&](pqxx::read_transaction& read) -> absl::Status {
    grants.clear();
    for (const auto& row : read.exec_params(kHeld, session)) {
      Grant& grant = grants.emplace_back();
      grant.session = session;
      grant.trial = row[0].as<int64_t>();
      grant.attempt = row[1].as<int64_t>();
      grant.study = row[2].as<int64_t>();
      grant.strand = row[3].as<int64_t>();
      grant.sweep = row[4].as<int64_t>();
      grant.number = row[5].as<int64_t>();
      grant.repeat = row[6].as<int32_t>();
      grant.training_seed = static_cast<uint64_t>(row[7].as<int64_t>());
      STEPCURVE_ASSIGN_OR_RETURN(grant.parameters, ParseDoubleArray(row[8].c_str()));
      grant.slot_class = row[9].as<int32_t>();
    }
    return absl::OkStatus();
  }));
  return grants;
}

}  // namespace stepcurve
