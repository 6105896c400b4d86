// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/core/claim_plan.h"

#include <pqxx/pqxx>

namespace stepcurve {

// What there is to hand out: active sweeps, and their strands with something queued. Which strands a sweep has is
// remembered, as long as the sweep's version stays: under a snapshot that somebody holds open each table read costs
// more with every flush that writes to it, and studies are written by all of them. One thread at a time.
class ClaimCandidates final {
 public:
  struct Result {
    std::vector<ClaimableSweep> sweeps;
    std::vector<ClaimableStrand> strands;
  };
  // Trials are not looked at.
  Result Read(pqxx::work& work);

 private:
  struct Sweep {
    int64_t version = 0;
    std::vector<std::pair<int64_t, int64_t>> strands;  // And their studies.
  };
  absl::flat_hash_map<int64_t, Sweep> sweeps_;
};

}  // namespace stepcurve
