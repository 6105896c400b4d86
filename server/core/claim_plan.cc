// SPDX-License-Identifier: Apache-2.0
#include "server/core/claim_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "proto/support/catalogue.h"

namespace stepcurve {
namespace {

// A sweep that is being served: its strands that still have trials, the one with the fewest grants first.
struct ServedSweep {
  ClaimableSweep state;
  std::set<std::tuple<int64_t, int64_t, size_t>> strands;  // (grants, strand id, index into the strands).
};

// Whom to serve first: highest priority, least pass, lowest id.
struct Turn {
  int32_t priority = 0;
  double pass = 0;
  int64_t sweep = 0;
  bool operator<(const Turn& other) const {
    return std::tuple(-int64_t{priority}, pass, sweep) < std::tuple(-int64_t{other.priority}, other.pass, other.sweep);
  }
};
Turn TurnOf(const ClaimableSweep& sweep) { return {sweep.priority, sweep.pass, sweep.sweep}; }

// The demands that can run one study's trials, served in turn, so that few trials are spread over many workers.
class FittingDemands {
 public:
  FittingDemands(int64_t study, size_t demands, FitsFn fits) {
    for (size_t i = 0; i < demands; ++i) {
      if (fits(study, i)) {
        fitting_.push_back(i);
      }
    }
  }

  // Index of the demand whose turn it is, or nothing once all are met.
  std::optional<size_t> Next(const std::vector<ClaimDemand>& demands) {
    while (!fitting_.empty()) {
      turn_ = turn_ < fitting_.size() ? turn_ : 0;
      if (demands[fitting_[turn_]].wanted > 0) {
        return fitting_[turn_++];
      }
      fitting_.erase(fitting_.begin() + static_cast<ptrdiff_t>(turn_));
    }
    return std::nullopt;
  }

 private:
  std::vector<size_t> fitting_;
  size_t turn_ = 0;
};

}  // namespace

Fit CanRun(const StudyDefinition& study, const Capabilities& can_run, const SlotClass& slot) {
  const auto offer = std::find_if(can_run.datasets.begin(), can_run.datasets.end(),
                                  [&](const DatasetOffer& dataset) { return dataset.name == study.workload.dataset; });
  if (offer == can_run.datasets.end()) {
    return Fit::kNoDataset;
  }
  if (offer->train_examples < study.training_examples) {
    return Fit::kWrongSizes;
  }
  const ModelRow* model = FindModel(study.workload.model);
  if (can_run.models.count(model == nullptr ? study.workload.model : model->family) == 0) {
    return Fit::kNoModel;
  }
  if (can_run.optimizers.count(study.workload.optimizer) == 0) {
    return Fit::kNoOptimizer;
  }
  const Needs& needs = study.needs;
  const bool device = needs.device == "any" || needs.device == slot.device;
  const bool memory = slot.memory_bytes == 0 || needs.memory_bytes <= slot.memory_bytes;
  return device && needs.devices <= slot.devices && memory ? Fit::kFits : Fit::kNoDevice;
}

std::vector<ClaimShare> PlanClaims(const std::vector<ClaimDemand>& demands, std::vector<ClaimableSweep> sweeps,
                                   std::vector<ClaimableStrand> strands, FitsFn fits) {
  std::map<int64_t, ServedSweep> served;
  for (const ClaimableSweep& sweep : sweeps) {
    if (!sweep.room.has_value() || *sweep.room > 0) {
      served[sweep.sweep].state = sweep;
    }
  }
  std::vector<int64_t> left(strands.size());  // Trials to hand out.
  for (size_t i = 0; i < strands.size(); ++i) {
    left[i] = strands[i].fresh + strands[i].requeued;
    const auto sweep = served.find(strands[i].sweep);
    if (left[i] > 0 && sweep != served.end()) {
      sweep->second.strands.emplace(strands[i].grants, strands[i].strand, i);
    }
  }
  std::set<Turn> turns;
  for (const auto& [id, sweep] : served) {
    if (!sweep.strands.empty()) {
      turns.insert(TurnOf(sweep.state));
    }
  }

  int64_t wanted = 0;
  for (const ClaimDemand& demand : demands) {
    wanted += std::max<int64_t>(demand.wanted, 0);
  }
  std::vector<ClaimDemand> unmet = demands;
  std::map<int64_t, FittingDemands> fitting;             // By study.
  std::map<std::pair<int64_t, size_t>, int64_t> shares;  // (strand id, demand) -> trials.
  while (wanted > 0 && !turns.empty()) {
    const Turn turn = *turns.begin();
    ServedSweep& sweep = served[turn.sweep];
    turns.erase(turns.begin());
    const auto [grants, strand, index] = *sweep.strands.begin();
    sweep.strands.erase(sweep.strands.begin());
    const int64_t study = strands[index].study;
    FittingDemands& slots = fitting.try_emplace(study, study, demands.size(), fits).first->second;
    if (const std::optional<size_t> demand = slots.Next(unmet)) {
      ++shares[{strand, *demand}];
      --unmet[*demand].wanted;
      --wanted;
      sweep.state.pass += 1;
      if (sweep.state.room.has_value()) {
        --*sweep.state.room;
      }
      if (--left[index] > 0) {
        sweep.strands.emplace(grants + 1, strand, index);
      }
    }  // Otherwise nobody can take any more of this strand: it is out.
    if (!sweep.strands.empty() && sweep.state.room.value_or(1) > 0) {
      turns.insert(TurnOf(sweep.state));
    }
  }

  std::vector<ClaimShare> plan;
  plan.reserve(shares.size());
  for (const auto& [key, count] : shares) {
    plan.push_back({key.first, demands[key.second].session, demands[key.second].slot_class, count});
  }
  return plan;
}

}  // namespace stepcurve
