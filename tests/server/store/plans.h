// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/core/sweep_plan.h"
#include "server/store/sweep_store.h"

namespace stepcurve {

// A workload of its own per name, trained for 100 steps, evaluated every 10, two metrics, a learning rate by halton.
inline StudyDefinition QuadraticStudy(const std::string& optimizer, int64_t batch_size) {
  StudyDefinition study;
  study.workload = {.dataset = "none", .model = "noisy_quadratic", .optimizer = optimizer};
  study.batch_size = batch_size;
  study.budget_steps = 100;
  study.grid = {.kind = EvaluationGrid::Kind::kEvery, .every = 10};
  study.metrics = {"val/loss", "test/loss"};
  study.space = {{.name = "learning_rate", .kind = RangeEntry{.min = 0.001, .max = 1, .scale = Scale::kLog}}};
  return study;
}

// `trials` for each batch size, at most twice as many.
inline SweepPlan QuadraticPlan(const std::string& name, const std::vector<int64_t>& batch_sizes, int64_t trials,
                               const std::string& optimizer = "sgd") {
  SweepPlan plan;
  plan.name = name;
  plan.resolved = "resolved: " + name + "\n";
  for (const int64_t batch_size : batch_sizes) {
    StudyPlan study;
    study.definition = QuadraticStudy(optimizer, batch_size);
    study.space_hash = SpaceHash(study.definition);
    study.strands = {{.wanted = trials, .max_trials = 2 * trials, .initial = trials}};
    plan.studies.push_back(study);
  }
  return plan;
}

// The request and the digest are the name's unless given.
inline SweepSource SourceOf(const SweepPlan& plan, const std::string& request_id = "", const std::string& digest = "") {
  return {.request_id = request_id.empty() ? "request-" + plan.name : request_id,
          .creator = "tester",
          .digest = digest.empty() ? "digest-" + plan.name : digest,
          .spec = std::string("spec\0bytes", 10),
          .spec_json = R"({"name": "spec"})"};
}

}  // namespace stepcurve
