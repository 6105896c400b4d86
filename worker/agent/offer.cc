// SPDX-License-Identifier: Apache-2.0
#include "worker/agent/offer.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "worker/quadratic/run_quadratic.h"

namespace stepcurve {
namespace {

// Kind of "cuda:1".
std::string KindOf(const std::string& device) {
  if (device == "auto") return "cpu";
  return device.substr(0, device.find(':'));
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "model name")) {
      return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    }
  }
  return "";
}

int64_t MemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

void AddOnce(const std::string& name, google::protobuf::RepeatedPtrField<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) *names.Add() = name;
}

void AddTrainer(const ReadyFrame& trainer, v1::Capabilities& can_run) {
  for (const ReadyFrame::Dataset& found : trainer.datasets) {
    const bool known = std::any_of(can_run.datasets().begin(), can_run.datasets().end(),
                                   [&](const v1::Capabilities::Dataset& row) { return row.name() == found.name; });
    if (known) continue;
    v1::Capabilities::Dataset& dataset = *can_run.add_datasets();
    dataset.set_name(found.name);
    dataset.set_train_examples(found.train_examples);
    dataset.set_val_examples(found.val_examples);
    dataset.set_test_examples(found.test_examples);
    dataset.set_fingerprint(found.fingerprint);
  }
  for (const std::string& model : trainer.models) {
    AddOnce(model, *can_run.mutable_models());
  }
  for (const std::string& optimizer : trainer.optimizers) {
    AddOnce(optimizer, *can_run.mutable_optimizers());
  }
}

}  // namespace

void FillOffer(const std::vector<DeviceSlots>& devices, const std::vector<std::optional<ReadyFrame>>& trainers,
               v1::Hello& hello) {
  v1::Capabilities& can_run = *hello.mutable_can_run();
  can_run.add_datasets()->set_name(std::string(kQuadraticDataset));
  can_run.add_models(std::string(kQuadraticModel));
  for (const std::string& optimizer : QuadraticOptimizers()) {
    can_run.add_optimizers(optimizer);
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    v1::SlotClass& slot_class = *hello.add_slot_classes();
    slot_class.set_devices(1);
    slot_class.set_threads(static_cast<int32_t>(devices[i].threads));
    slot_class.set_slots(static_cast<int32_t>(devices[i].slots));
    if (i < trainers.size() && trainers[i].has_value()) {
      slot_class.set_device(trainers[i]->device);
      slot_class.set_memory_bytes(trainers[i]->memory_bytes);
      slot_class.set_description(trainers[i]->description);
      AddTrainer(*trainers[i], can_run);
      for (const absl::string_view version : absl::StrSplit(trainers[i]->versions, ", ", absl::SkipEmpty())) {
        AddOnce(std::string(version), *hello.mutable_versions());
      }
    } else {
      slot_class.set_device(KindOf(devices[i].device));
      slot_class.set_memory_bytes(MemoryBytes());
      slot_class.set_description(ProcessorName());
    }
  }
}

std::string DescribeOffer(const v1::Capabilities& can_run) {
  const auto dataset_name = [](std::string* out, const v1::Capabilities::Dataset& dataset) {
    out->append(dataset.name());
  };
  return absl::StrCat(absl::StrJoin(can_run.datasets(), ", ", dataset_name), "; ",
                      absl::StrJoin(can_run.models(), ", "), "; ", absl::StrJoin(can_run.optimizers(), ", "));
}

}  // namespace stepcurve
