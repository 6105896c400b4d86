// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "server/core/flush_decision.h"
#include "server/core/study_definition.h"
#include "server/store/pg_connection.h"

namespace stepcurve {

// What a flush has to know of a study, all of which never changes.
struct FlushStudy {
  struct Strand {
    int64_t id = 0;
    Sampler sampler;
  };
  int64_t sweep = 0;
  StudyDefinition definition;
  std::vector<Strand> strands;  // By id.

  StudyRules rules() const { return {static_cast<int64_t>(definition.metrics.size()), definition.budget_steps}; }
};

// Studies that flushes have met. One thread.
class FlushStudies final {
 public:
  // Reads those of `studies` that are not known yet.
  absl::Status Load(PgConnection& connection, const std::vector<int64_t>& studies);

  // Of a study that was loaded.
  const FlushStudy& at(int64_t study) const { return studies_.at(study); }

 private:
  absl::flat_hash_map<int64_t, FlushStudy> studies_;
};

}  // namespace stepcurve
