// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/core/claim_plan.h"
#include "server/store/claim_candidates.h"
#include "server/store/database.h"

namespace stepcurve {

// A session as claims know it.
struct ClaimSession {
  int64_t session = 0;
  int64_t stream = 0;
  std::vector<SlotClass> slot_classes;
  Capabilities can_run;
  std::vector<int64_t> sweeps;  // Empty: all.
  std::string worker_name;
};

// A trial granted to a session.
struct Grant {
  int64_t trial = 0;
  int64_t attempt = 0;
  int64_t session = 0;
  int32_t slot_class = 0;
  int64_t study = 0;
  int64_t strand = 0;
  int64_t sweep = 0;
  int64_t number = 0;
  int32_t repeat = 0;
  uint64_t training_seed = 0;
  int64_t persisted_step = -1;
  std::vector<double> parameters;
};

// Hands trials out. One caller at a time per server.
class ClaimStore final {
 public:
  explicit ClaimStore(Database* database);  // Not owned; outlives the store.

  struct Request {
    const ClaimSession* session = nullptr;
    std::vector<ClaimDemand> demands;  // Of that session, one per slot class.
  };
  struct Result {
    std::vector<Grant> grants;
    std::vector<int64_t> gone;  // Sessions that have ended, or whose stream number is no longer ours.
  };
  // Grants what fits, for all of a server's sessions at once, in one transaction: sessions are share-locked and their
  // stream numbers tested, sweeps and strands locked in order, requeued trials taken first, then those at the strands'
  // cursors. Reads no history and no trial's state index.
  absl::StatusOr<Result> Claim(const std::vector<Request>& requests);

  // What a session holds by our record, as grants: after a claim whose outcome is unknown.
  absl::StatusOr<std::vector<Grant>> HeldBy(int64_t session);

  // Definition of a study, remembered (definitions never change).
  absl::StatusOr<std::shared_ptr<const StudyDefinition>> Definition(int64_t study);

 private:
  using Definitions = absl::flat_hash_map<int64_t, std::shared_ptr<const StudyDefinition>>;
  // Definitions of studies (with their sweeps), read if they are not known yet.
  absl::StatusOr<Definitions> Remember(pqxx::transaction_base& transaction,
                                       const absl::flat_hash_map<int64_t, int64_t>& studies);

  Database* database_;
  ClaimCandidates candidates_;
  absl::Mutex mu_;
  Definitions definitions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace stepcurve
