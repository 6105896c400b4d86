// SPDX-License-Identifier: Apache-2.0
#include "server/core/plan_sweep.h"

#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

#include "proto/support/catalogue.h"
#include "proto/support/status_macros.h"
#include "server/core/field_error.h"
#include "server/core/names.h"
#include "server/core/plan_budget.h"
#include "server/core/plan_evaluation.h"
#include "server/core/plan_search.h"
#include "server/core/plan_workloads.h"
#include "server/core/study_sections.h"

namespace stepcurve {
namespace {

constexpr size_t kMaxDescription = 4096;

absl::Status CheckHead(const SweepSpec& spec) {
  if (spec.version != 0 && spec.version != 1) {
    return FieldError("version", absl::StrCat("is ", spec.version, "; this server knows version 1 of sweep files"));
  }
  if (!IsSweepName(spec.name)) {
    return FieldError("name", absl::StrCat("\"", spec.name,
                                           "\" must start with a letter and be 1 to 63 characters of "
                                           "[a-z0-9._-]"));
  }
  if (spec.description.size() > kMaxDescription) {
    return FieldError("description",
                      absl::StrCat("has ", spec.description.size(), " bytes; at most ", kMaxDescription));
  }
  if (absl::StrContains(spec.description, '\0')) return FieldError("description", "has a zero byte");
  for (size_t i = 0; i < spec.tags.size(); ++i) {
    if (!IsPlainName(spec.tags[i])) {
      return FieldError(absl::StrCat("tags[", i, "]"),
                        absl::StrCat("\"", spec.tags[i], "\" is no tag; ", kPlainNameRule));
    }
  }
  if (spec.priority < -1000 || spec.priority > 1000) {
    return FieldError("priority", absl::StrCat("is ", spec.priority, "; it must be -1000 to 1000"));
  }
  if (spec.max_running.has_value() && *spec.max_running < 1) {
    return FieldError("max_running", absl::StrCat("is ", *spec.max_running, "; it must be at least 1"));
  }
  return absl::OkStatus();
}

struct PlannedStop {
  Semantics semantics = Semantics::kPublished;
  int64_t keep = 1;
};

absl::StatusOr<PlannedStop> PlanStop(const StopSpec& stop) {
  if (stop.exact.value_or(false)) {
    return FieldError("stop.exact", "is not available in this version; leave it out");
  }
  PlannedStop planned;
  if (stop.semantics.has_value()) {
    if (*stop.semantics != "reached" && *stop.semantics != "published") {
      return UnknownName("stop.semantics", "semantics", *stop.semantics, {"reached", "published"});
    }
    if (*stop.semantics == "reached") planned.semantics = Semantics::kReached;
  }
  planned.keep = stop.keep.value_or(1);
  if (planned.keep < 1 || planned.keep > 10) {
    return FieldError("stop.keep", absl::StrCat("is ", planned.keep, "; it must be 1 to 10"));
  }
  return planned;
}

absl::Status PlanTraining(const Placed<TrainingSpec>& training, StudyDefinition& study) {
  const auto known = [](absl::Span<const absl::string_view> names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  study.schedule = training.value.schedule.value_or("constant");
  if (!absl::c_linear_search(Schedules(), study.schedule)) {
    return UnknownName(training.path + ".schedule", "schedule", study.schedule, known(Schedules()));
  }
  // The quadratic's moments are known for a constant rate only.
  if (study.training_examples == 0 && study.schedule != "constant") {
    return FieldError(training.path + ".schedule",
                      absl::StrCat(study.workload.dataset, " has the schedule constant only"));
  }
  study.precision = training.value.precision.value_or("float32");
  if (!absl::c_linear_search(Precisions(), study.precision)) {
    return FieldError(training.path + ".precision",
                      absl::StrCat(study.precision, " is not available; write ", absl::StrJoin(Precisions(), ", ")));
  }
  return absl::OkStatus();
}

absl::Status PlanNeeds(const Placed<ResourcesSpec>& resources, StudyDefinition& study) {
  const std::string device = resources.value.device.value_or("any");
  if (device != "any" && device != "cpu" && device != "cuda") {
    return UnknownName(resources.path + ".device", "device", device, {"any", "cpu", "cuda"});
  }
  const int64_t devices = resources.value.devices.value_or(1);
  if (devices < 1)
    return FieldError(resources.path + ".devices", absl::StrCat("is ", devices, "; it must be at least 1"));
  const int64_t memory = resources.value.memory_bytes.value_or(FindModel(study.workload.model)->memory_bytes);
  if (memory < 0)
    return FieldError(resources.path + ".memory", absl::StrCat("is ", memory, " bytes; it must be at least 0"));
  study.needs = {.device = device, .devices = devices, .memory_bytes = memory};
  return absl::OkStatus();
}

absl::Status PlanCheckpoint(const Placed<CheckpointSpec>& checkpoint, StudyDefinition& study) {
  const CheckpointSpec& spec = checkpoint.value;
  if (spec.every.has_value() && spec.every_steps.has_value()) {
    return FieldError(checkpoint.path, "has both a time and a number of steps; write one");
  }
  if ((spec.every.has_value() && *spec.every <= absl::ZeroDuration()) || spec.every_steps.value_or(1) < 1) {
    return FieldError(checkpoint.path + ".every", "must be above 0");
  }
  study.checkpoint_every_steps = spec.every_steps.value_or(0);
  study.checkpoint_every = spec.every_steps.has_value() ? absl::ZeroDuration() : spec.every.value_or(absl::Minutes(10));
  if (study.training_examples == 0) {
    // A trial of the quadratic takes seconds.
    study.checkpoint_every_steps = 0;
    study.checkpoint_every = absl::ZeroDuration();
  }
  return absl::OkStatus();
}

// Resolves one sweep; holds what several studies look at.
class SweepPlanner final {
 public:
  explicit SweepPlanner(const SweepSpec& spec) : spec_(spec), used_(spec.overrides.size(), false) {}

  absl::StatusOr<SweepPlan> Plan() {
    STEPCURVE_RETURN_IF_ERROR(CheckHead(spec_));
    STEPCURVE_ASSIGN_OR_RETURN(stop_, PlanStop(spec_.stop));
    STEPCURVE_ASSIGN_OR_RETURN(workloads_, PlanWorkloads(spec_.workloads));
    STEPCURVE_RETURN_IF_ERROR(CheckSelectors());
    STEPCURVE_RETURN_IF_ERROR(ResolveBatchSizes());
    STEPCURVE_RETURN_IF_ERROR(StartPlan());
    for (size_t i = 0; i < workloads_.size(); ++i) {
      for (int64_t batch_size : sizes_of_[i]) {
        STEPCURVE_RETURN_IF_ERROR(PlanStudy(i, batch_size));
      }
    }
    for (size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) {
        return SelectsNothing(spec_.overrides[i].selector, absl::StrCat("overrides[", i, "].for"), workloads_,
                              all_sizes_);
      }
    }
    plan_.resolved = Resolved();
    return std::move(plan_);
  }

 private:
  static int64_t TrainingExamples(const Workload& workload) { return FindDataset(workload.dataset)->train_examples; }

  absl::Status CheckSelectors() const {
    for (size_t i = 0; i < spec_.overrides.size(); ++i) {
      const OverrideSpec& over = spec_.overrides[i];
      const std::string path = absl::StrCat("overrides[", i, "]");
      const SelectorSpec& selector = over.selector;
      const bool range = selector.batch_size_from.has_value() || selector.batch_size_to.has_value();
      if (range && !selector.batch_sizes.empty()) {
        return FieldError(path + ".for.batch_size", "has both a list and a range; write one");
      }
      if (over.batch_sizes.has_value() && SelectsBatchSizes(selector)) {
        return FieldError(path + ".batch_sizes", "goes with a `for` that selects workloads alone, not batch sizes");
      }
    }
    return absl::OkStatus();
  }

  // Every workload's batch sizes: the sweep's own, or those of the last override that selects it.
  absl::Status ResolveBatchSizes() {
    std::set<int64_t> all;
    for (const Workload& workload : workloads_) {
      std::string path = "batch_sizes";
      BatchSizesSpec sizes = spec_.batch_sizes.value_or(BatchSizesSpec{});
      for (size_t i = 0; i < spec_.overrides.size(); ++i) {
        const OverrideSpec& over = spec_.overrides[i];
        if (!over.batch_sizes.has_value() || !SelectsWorkload(over.selector, workload)) continue;
        sizes = *over.batch_sizes;
        path = absl::StrCat("overrides[", i, "].batch_sizes");
      }
      STEPCURVE_ASSIGN_OR_RETURN(std::vector<int64_t> planned,
                                 PlanBatchSizes(sizes, path, workload.dataset, TrainingExamples(workload)));
      all.insert(planned.begin(), planned.end());
      sizes_of_.push_back(std::move(planned));
    }
    all_sizes_.assign(all.begin(), all.end());
    return absl::OkStatus();
  }

  absl::Status StartPlan() {
    plan_.name = spec_.name;
    plan_.description = spec_.description;
    plan_.tags = spec_.tags;
    plan_.priority = spec_.priority;
    plan_.max_running = spec_.max_running;
    plan_.semantics = stop_.semantics;
    for (size_t i = 0; i < spec_.goals.size(); ++i) {
      absl::StatusOr<Goal> goal = ParseGoal(spec_.goals[i]);
      if (!goal.ok()) return FieldError(absl::StrCat("goals[", i, "]"), goal.status().message());
      plan_.goals.push_back(FormatGoal(*goal));
    }
    return absl::OkStatus();
  }

  absl::Status PlanStudy(size_t workload, int64_t batch_size) {
    StudyDefinition study{.workload = workloads_[workload], .batch_size = batch_size};
    study.training_examples = TrainingExamples(study.workload);
    const StudyKey key{&workloads_[workload], study.training_examples, batch_size};
    STEPCURVE_ASSIGN_OR_RETURN(const StudySections sections, SectionsOf(spec_, key, used_));
    STEPCURVE_RETURN_IF_ERROR(PlanTraining(sections.training, study));
    STEPCURVE_ASSIGN_OR_RETURN(study.budget_steps, PlanBudget(sections.budget, key, sizes_of_[workload]));
    STEPCURVE_RETURN_IF_ERROR(PlanSearch(sections.search, workloads_, all_sizes_, study));
    STEPCURVE_ASSIGN_OR_RETURN(PlannedEvaluation evaluation,
                               PlanEvaluation(sections.evaluation, key, study.budget_steps));
    study.grid = std::move(evaluation.grid);
    study.metrics = std::move(evaluation.metrics);
    study.split_intervals = std::move(evaluation.split_intervals);
    study.train_examples = evaluation.train_examples;
    STEPCURVE_ASSIGN_OR_RETURN(study.goals, PlanGoals(sections.goals, study.workload, study.metrics));
    STEPCURVE_RETURN_IF_ERROR(PlanNeeds(sections.resources, study));
    STEPCURVE_RETURN_IF_ERROR(PlanCheckpoint(sections.checkpoint, study));
    study.semantics = stop_.semantics;
    study.keep = stop_.keep;
    STEPCURVE_ASSIGN_OR_RETURN(std::vector<StrandPlan> strands, PlanStrands(sections.search, study));
    return AddStudy(std::move(study), std::move(strands), sections.search);
  }

  absl::Status AddStudy(StudyDefinition study, std::vector<StrandPlan> strands, const PlacedSearch& search) {
    for (const StrandPlan& strand : strands) {
      if (spec_.stop.keep.has_value() && stop_.keep > strand.wanted) {
        return FieldError("stop.keep",
                          absl::StrCat("is ", stop_.keep, ", which is above trials (", strand.wanted, ")"));
      }
      wanted_ += strand.wanted;
      points_ += study.points.size() / study.space.size();
    }
    if (wanted_ > kMaxTrialsPerSweep) {
      return FieldError(search.trials.path, absl::StrCat("the sweep wants more than ", kMaxTrialsPerSweep, " trials (",
                                                         wanted_, " up to ", WorkloadAddress(study.workload),
                                                         ", batch size ", study.batch_size, "); submit it in parts"));
    }
    if (points_ > kMaxTrialsPerSweep) {
      return FieldError(search.points.path, absl::StrCat("there are more than ", kMaxTrialsPerSweep,
                                                         " points over all studies; submit it in parts"));
    }
    std::string hash = SpaceHash(study);
    plan_.studies.push_back({std::move(study), std::move(hash), std::move(strands)});
    return absl::OkStatus();
  }

  // One block for all batch sizes of a workload that have the rest in common.
  std::string Resolved() const {
    struct Block {
      const StudyDefinition* study;
      std::vector<int64_t> batch_sizes;
    };
    std::vector<Block> blocks;
    absl::flat_hash_map<std::string, size_t> block_of;  // By the text of the rest.
    for (const StudyPlan& study : plan_.studies) {
      const auto [found, fresh] = block_of.try_emplace(ToYaml(study.definition, {}), blocks.size());
      if (fresh) blocks.push_back({&study.definition, {}});
      blocks[found->second].batch_sizes.push_back(study.definition.batch_size);
    }
    std::string yaml;
    for (const Block& block : blocks) {
      const std::string text = ToYaml(*block.study, block.batch_sizes);
      absl::StrAppend(&yaml, "- ", absl::StrReplaceAll(absl::StripSuffix(text, "\n"), {{"\n", "\n  "}}), "\n");
    }
    return yaml;
  }

  const SweepSpec& spec_;
  std::vector<bool> used_;  // Overrides that have selected a study.
  PlannedStop stop_;
  std::vector<Workload> workloads_;
  std::vector<std::vector<int64_t>> sizes_of_;  // By workload.
  std::vector<int64_t> all_sizes_;
  SweepPlan plan_;
  int64_t wanted_ = 0;
  size_t points_ = 0;
};

}  // namespace

absl::StatusOr<SweepPlan> PlanSweep(const SweepSpec& spec) { return SweepPlanner(spec).Plan(); }

}  // namespace stepcurve
