// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/sweep_file.h"

#include <cstdint>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/sweep_file/fields.h"
#include "client/sweep_file/number.h"
#include "client/sweep_file/quantity.h"
#include "client/sweep_file/search_section.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

FieldReader Names(const std::string& name, google::protobuf::RepeatedPtrField<std::string>* out) {
  return {name, [out](const Place& at) { return ReadNames(at, out); }};
}

absl::Status ReadOptions(const Place& at, google::protobuf::RepeatedPtrField<v1::Option>* out) {
  return ReadOpenMap(at, [out](const std::string& name, const Place& value) -> absl::Status {
    v1::Option* option = out->Add();
    option->set_name(name);
    const YamlNode& node = value.node;
    if (node.kind != YamlNode::Kind::kScalar) {
      return Wrong(value, absl::StrFormat("must be true, false, a number or text, not %s", node.Describe()));
    }
    if (node.quoted || (!IsNumber(node.text) && !LooksLikeNumber(node.text))) {
      if (!node.quoted && (node.text == "true" || node.text == "false")) {
        option->set_flag(node.text == "true");
      } else {
        option->set_text(node.text);
      }
      return absl::OkStatus();
    }
    if (node.text.find_first_of(".eE") == std::string::npos) {
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t integer, ReadInteger(value));
      option->set_integer(integer);
      return absl::OkStatus();
    }
    STEPCURVE_ASSIGN_OR_RETURN(const double number, ReadReal(value));
    option->set_number(number);
    return absl::OkStatus();
  });
}

absl::Status ReadWorkload(const Place& at, v1::WorkloadSpec* out) {
  const auto options = [](const std::string& name, google::protobuf::RepeatedPtrField<v1::Option>* to) {
    return FieldReader{name, [to](const Place& map) { return ReadOptions(map, to); }};
  };
  return ReadMap(at, {Names("dataset", out->mutable_dataset()), Names("model", out->mutable_model()),
                      Names("optimizer", out->mutable_optimizer()), options("data", out->mutable_data()),
                      options("options", out->mutable_options()), Plain(out, "variant")});
}

// A list of sizes in which `full` may stand, once: the contract keeps it as a flag.
template <typename Message>
absl::Status ReadSizes(const Place& at, google::protobuf::RepeatedField<int64_t>* sizes, Message* out) {
  return ReadList(at, [&](const Place& item) -> absl::Status {
    if (item.node.kind == YamlNode::Kind::kScalar && item.node.text == "full" && !item.node.quoted) {
      if (out->full()) return Wrong(item, "full is given twice");
      out->set_full(true);
      return absl::OkStatus();
    }
    if (item.node.kind == YamlNode::Kind::kScalar && !IsNumber(item.node.text) && !LooksLikeNumber(item.node.text)) {
      return Wrong(item, absl::StrFormat("must be an integer or full, not %s", item.node.Describe()));
    }
    STEPCURVE_ASSIGN_OR_RETURN(const int64_t size, ReadInteger(item));
    sizes->Add(size);
    return absl::OkStatus();
  });
}

absl::Status ReadBatchSizes(const Place& at, v1::BatchSizes* out) {
  if (at.node.kind == YamlNode::Kind::kList) return ReadSizes(at, out->mutable_sizes(), out);
  if (at.node.kind != YamlNode::Kind::kMap) {
    return Wrong(at, absl::StrFormat("must be a list such as [64, 512, full] or {from: 8, to: 8192, factor: 4}, not %s",
                                     at.node.Describe()));
  }
  v1::BatchSizes::Geometric* range = out->mutable_range();
  STEPCURVE_RETURN_IF_ERROR(ReadMap(
      at, {Plain(range, "from"), Plain(range, "to"), Plain(range, "factor"), {"also", [&](const Place& also) {
                                                                                return ReadSizes(
                                                                                    also, out->mutable_sizes(), out);
                                                                              }}}));
  for (absl::string_view name : {"from", "to", "factor"}) {
    bool there = false;
    for (const YamlNode::Field& field : at.node.fields) there |= field.name == name;
    if (!there) return Wrong(at, absl::StrFormat("%s is missing; a range is {from: 8, to: 8192, factor: 4}", name));
  }
  return absl::OkStatus();
}

absl::Status ReadTraining(const Place& at, v1::Training* out) {
  return ReadMap(at, {Plain(out, "schedule"), Plain(out, "precision")});
}

absl::Status ReadBudget(const Place& at, v1::Budget* out) {
  std::set<int64_t> seen;
  const auto entries = [&](const Place& map) {
    return ReadOpenMap(map, [&](const std::string& key, const Place& value) -> absl::Status {
      const absl::StatusOr<int64_t> batch_size = ParseInteger(key);
      if (!batch_size.ok()) {
        return Wrong(value, absl::StrFormat("the key must be a batch size: %s", batch_size.status().message()));
      }
      if (!seen.insert(*batch_size).second) return Wrong(value, absl::StrFormat("%d is given twice", *batch_size));
      v1::Budget::Entry* entry = out->add_per_batch_size();
      entry->set_batch_size(*batch_size);
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t steps, ReadInteger(value));
      entry->set_steps(steps);
      return absl::OkStatus();
    });
  };
  return ReadMap(at, {Plain(out, "steps"),
                      Plain(out, "epochs"),
                      {"per_batch_size", entries},
                      Plain(out, "at_least"),
                      Plain(out, "at_most")});
}

absl::Status ReadEvaluation(const Place& at, v1::Evaluation* out) {
  const auto splits = [&](const Place& map) {
    return ReadOpenMap(map, [&](const std::string& split, const Place& every) -> absl::Status {
      v1::Evaluation::SplitInterval* interval = out->add_splits();
      interval->set_split(split);
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t n, ReadInteger(every));
      interval->set_every(n);
      return absl::OkStatus();
    });
  };
  return ReadMap(at, {Plain(out, "geometric"),
                      Plain(out, "from"),
                      Plain(out, "every"),
                      Plain(out, "epochs"),
                      Plain(out, "at"),
                      {"splits", splits},
                      Plain(out, "train_examples")});
}

absl::Status ReadStop(const Place& at, v1::Stop* out) {
  return ReadMap(at, {Plain(out, "exact"), Plain(out, "semantics"), Plain(out, "keep")});
}

absl::Status ReadResources(const Place& at, v1::Resources* out) {
  const auto memory = [&](const Place& place) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(const std::string text, ReadText(place));
    const absl::StatusOr<int64_t> bytes = ParseMemory(text);
    if (!bytes.ok()) return Wrong(place, bytes.status().message());
    out->set_memory_bytes(*bytes);
    return absl::OkStatus();
  };
  return ReadMap(at, {Plain(out, "device"), Plain(out, "devices"), {"memory", memory}});
}

absl::Status ReadCheckpoint(const Place& at, v1::Checkpoint* out) {
  const auto every = [&](const Place& place) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(const std::string text, ReadText(place));
    if (IsNumber(text)) {
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t steps, ReadInteger(place));
      out->set_every_steps(steps);
      return absl::OkStatus();
    }
    const absl::StatusOr<absl::Duration> span = ParseSpan(text);
    if (!span.ok()) return Wrong(place, absl::StrFormat("%s; or a number of steps", span.status().message()));
    const int64_t seconds = absl::ToInt64Seconds(*span);
    out->mutable_every()->set_seconds(seconds);
    out->mutable_every()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(*span - absl::Seconds(seconds))));
    return absl::OkStatus();
  };
  return ReadMap(at, {{"every", every}});
}

absl::Status ReadSelector(const Place& at, v1::Override::Selector* out) {
  const auto sizes = [&](const Place& place) -> absl::Status {
    if (place.node.kind == YamlNode::Kind::kMap) {
      FieldReader from = Plain(out, "batch_size_from");
      FieldReader to = Plain(out, "batch_size_to");
      from.name = "from";
      to.name = "to";
      return ReadMap(place, {from, to});
    }
    if (place.node.kind != YamlNode::Kind::kList) {
      return Wrong(place, absl::StrFormat("must be a list such as [64, full] or {from: 64, to: 512}, not %s",
                                          place.node.Describe()));
    }
    return ReadSizes(place, out->mutable_batch_sizes(), out);
  };
  return ReadMap(at, {Names("dataset", out->mutable_dataset()),
                      Names("model", out->mutable_model()),
                      Names("optimizer", out->mutable_optimizer()),
                      Names("variant", out->mutable_variant()),
                      {"batch_size", sizes}});
}

absl::Status ReadOverrideGoals(const Place& at, v1::Override::Goals* out) { return Plain(out, "goals").read(at); }

absl::Status ReadOverride(const Place& at, v1::Override* out) {
  return ReadMap(at, {Section<v1::Override::Selector>(
                          "for", [out] { return out->mutable_for_(); }, ReadSelector),
                      Section<v1::Training>(
                          "training", [out] { return out->mutable_training(); }, ReadTraining),
                      Section<v1::Search>(
                          "search", [out] { return out->mutable_search(); }, ReadOverrideSearch),
                      Section<v1::Budget>(
                          "budget", [out] { return out->mutable_budget(); }, ReadBudget),
                      Section<v1::Evaluation>(
                          "evaluation", [out] { return out->mutable_evaluation(); }, ReadEvaluation),
                      Section<v1::Override::Goals>(
                          "goals", [out] { return out->mutable_goals(); }, ReadOverrideGoals),
                      Section<v1::Resources>(
                          "resources", [out] { return out->mutable_resources(); }, ReadResources),
                      Section<v1::Checkpoint>(
                          "checkpoint", [out] { return out->mutable_checkpoint(); }, ReadCheckpoint),
                      Section<v1::BatchSizes>(
                          "batch_sizes", [out] { return out->mutable_batch_sizes(); }, ReadBatchSizes)});
}

absl::Status ReadSweep(const Place& at, v1::SweepSpec* out) {
  const auto workloads = [out](const Place& list) {
    return ReadList(list, [out](const Place& item) { return ReadWorkload(item, out->add_workloads()); });
  };
  const auto overrides = [out](const Place& list) {
    return ReadList(list, [out](const Place& item) { return ReadOverride(item, out->add_overrides()); });
  };
  return ReadMap(at, {Plain(out, "name"),
                      Plain(out, "description"),
                      Plain(out, "tags"),
                      Plain(out, "priority"),
                      Plain(out, "max_running"),
                      {"workloads", workloads},
                      Section<v1::BatchSizes>(
                          "batch_sizes", [out] { return out->mutable_batch_sizes(); }, ReadBatchSizes),
                      Section<v1::Training>(
                          "training", [out] { return out->mutable_training(); }, ReadTraining),
                      Section<v1::Search>(
                          "search", [out] { return out->mutable_search(); }, ReadSearch),
                      Section<v1::Budget>(
                          "budget", [out] { return out->mutable_budget(); }, ReadBudget),
                      Section<v1::Evaluation>(
                          "evaluation", [out] { return out->mutable_evaluation(); }, ReadEvaluation),
                      Plain(out, "goals"),
                      Section<v1::Stop>(
                          "stop", [out] { return out->mutable_stop(); }, ReadStop),
                      Section<v1::Resources>(
                          "resources", [out] { return out->mutable_resources(); }, ReadResources),
                      Section<v1::Checkpoint>(
                          "checkpoint", [out] { return out->mutable_checkpoint(); }, ReadCheckpoint),
                      {"overrides", overrides},
                      Plain(out, "version")});
}

}  // namespace

absl::StatusOr<SweepFile> ParseSweepFile(absl::string_view text) {
  SweepFile file;
  STEPCURVE_ASSIGN_OR_RETURN(file.root, ParseYaml(text));
  STEPCURVE_RETURN_IF_ERROR(ReadSweep(Place{file.root, "", file.root.line}, &file.spec));
  return file;
}

}  // namespace stepcurve
