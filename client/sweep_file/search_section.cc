// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/search_section.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

bool Has(const YamlNode& map, absl::string_view name) {
  return std::any_of(map.fields.begin(), map.fields.end(), [&](const auto& field) { return field.name == name; });
}

absl::Status Need(const Place& at, std::initializer_list<absl::string_view> names) {
  for (absl::string_view name : names) {
    if (!Has(at.node, name)) return Wrong(at, absl::StrFormat("%s is missing", name));
  }
  return absl::OkStatus();
}

absl::Status ReadTimes(const Place& at, v1::Times* out) {
  if (at.node.kind == YamlNode::Kind::kScalar) {
    if (at.node.text == "budget") {
      out->set_budget(true);
    } else {
      out->set_parameter(at.node.text);
    }
    return absl::OkStatus();
  }
  if (at.node.kind != YamlNode::Kind::kMap) {
    return Wrong(at, absl::StrFormat("must be budget, a parameter or {batch_size: POWER, at: BATCH_SIZE}, not %s",
                                     at.node.Describe()));
  }
  v1::Times::BatchSizePower* power = out->mutable_batch_size();
  FieldReader exponent = Plain(power, "power");
  exponent.name = "batch_size";
  STEPCURVE_RETURN_IF_ERROR(ReadMap(at, {exponent, Plain(power, "at")}));
  return Need(at, {"batch_size", "at"});
}

// {min, max, scale, integer, count, times} or {values, times}.
absl::Status ReadDrawn(const Place& at, v1::SpaceEntry* out) {
  const FieldReader times = Section<v1::Times>(
      "times", [out] { return out->mutable_times(); }, ReadTimes);
  if (Has(at.node, "values")) {
    for (absl::string_view name : {"min", "max", "scale", "integer", "count"}) {
      if (Has(at.node, name)) return Wrong(at, absl::StrFormat("values and %s exclude each other", name));
    }
    const Read value = [out](const Place& place) -> absl::Status {
      STEPCURVE_ASSIGN_OR_RETURN(const double number, ReadReal(place));
      out->mutable_values()->add_values(number);
      return absl::OkStatus();
    };
    out->mutable_values();
    return ReadMap(at, {{"values", [&](const Place& list) { return ReadList(list, value); }}, times});
  }
  v1::SpaceEntry::Range* range = out->mutable_range();
  const auto scale = [range](const Place& place) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(*range->mutable_scale(), ReadText(place));
    if (range->scale().empty()) return Wrong(place, "must be linear, log or reverse_log");
    return absl::OkStatus();
  };
  // In the contract 0 stands for no count, so that a written 0 has to be caught here.
  const auto count = [range](const Place& place) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(const int64_t number, ReadInteger(place));
    if (number < 1) return Wrong(place, absl::StrFormat("%d; it must be at least 1", number));
    range->set_count(number);
    return absl::OkStatus();
  };
  // `values` is here to be named among the known fields; above it has been seen to be absent.
  STEPCURVE_RETURN_IF_ERROR(ReadMap(at, {{"values", nullptr},
                                         Plain(range, "min"),
                                         Plain(range, "max"),
                                         {"scale", scale},
                                         Plain(range, "integer"),
                                         {"count", count},
                                         times}));
  return Need(at, {"min", "max"});
}

absl::Status ReadSpaceEntry(const Place& at, bool in_override, v1::SpaceEntry* out) {
  if (at.node.IsNull()) {
    if (!in_override) return Wrong(at, "null removes a parameter, which only an override can; delete the line");
    out->set_removed(true);
    return absl::OkStatus();
  }
  if (at.node.kind == YamlNode::Kind::kMap) return ReadDrawn(at, out);
  if (at.node.kind == YamlNode::Kind::kList) {
    return Wrong(at, "must be a number, {values: [...]} or {min: A, max: B}, not a list");
  }
  STEPCURVE_ASSIGN_OR_RETURN(const double value, ReadReal(at));
  out->set_fixed(value);
  return absl::OkStatus();
}

// Points are a table in the contract, so all of them name the same parameters, in any order.
absl::Status ReadPoint(const Place& at, bool first, v1::Points* out, int64_t* batch_size) {
  std::vector<double> row(out->names_size(), std::numeric_limits<double>::quiet_NaN());
  STEPCURVE_RETURN_IF_ERROR(ReadOpenMap(at, [&](const std::string& name, const Place& place) -> absl::Status {
    if (name == "batch_size") {
      STEPCURVE_ASSIGN_OR_RETURN(*batch_size, ReadInteger(place));
      // In the contract 0 stands for every batch size.
      if (*batch_size < 1) return Wrong(place, absl::StrFormat("%d; it must be at least 1", *batch_size));
      return absl::OkStatus();
    }
    STEPCURVE_ASSIGN_OR_RETURN(const double value, ReadReal(place));
    if (first) {
      out->add_names(name);
      row.push_back(value);
      return absl::OkStatus();
    }
    const auto found = std::find(out->names().begin(), out->names().end(), name);
    if (found == out->names().end()) {
      return Wrong(place,
                   absl::StrFormat("the points before do not name it; every point names the same parameters (%s)",
                                   absl::StrJoin(out->names(), ", ")));
    }
    row[found - out->names().begin()] = value;
    return absl::OkStatus();
  }));
  for (size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) {
      return Wrong(at, absl::StrFormat("%s is missing; every point names the same parameters (%s)", out->names(i),
                                       absl::StrJoin(out->names(), ", ")));
    }
  }
  if (row.empty()) return Wrong(at, "names no parameter");
  out->mutable_values()->Add(row.begin(), row.end());
  return absl::OkStatus();
}

absl::Status ReadPoints(const Place& at, v1::Points* out) {
  std::vector<int64_t> batch_sizes;
  STEPCURVE_RETURN_IF_ERROR(ReadList(at, [&](const Place& item) {
    batch_sizes.push_back(0);
    return ReadPoint(item, batch_sizes.size() == 1, out, &batch_sizes.back());
  }));
  if (std::any_of(batch_sizes.begin(), batch_sizes.end(), [](int64_t b) { return b != 0; })) {
    out->mutable_batch_sizes()->Add(batch_sizes.begin(), batch_sizes.end());
  }
  return absl::OkStatus();
}

absl::Status ReadAnySearch(const Place& at, bool in_override, v1::Search* out) {
  const auto space = [&](const Place& map) {
    return ReadOpenMap(map, [&](const std::string& name, const Place& entry) {
      v1::SpaceEntry* to = out->add_space();
      to->set_name(name);
      return ReadSpaceEntry(entry, in_override, to);
    });
  };
  return ReadMap(at, {Plain(out, "sampler"),
                      Plain(out, "seed"),
                      Plain(out, "trials"),
                      Plain(out, "max_trials"),
                      Plain(out, "top_up"),
                      Plain(out, "split"),
                      Plain(out, "repeats"),
                      Plain(out, "points_across_batch_sizes"),
                      {"space", space},
                      Section<v1::Points>(
                          "points", [&] { return out->mutable_points(); }, ReadPoints)});
}

}  // namespace

absl::Status ReadSearch(const Place& at, v1::Search* out) { return ReadAnySearch(at, false, out); }
absl::Status ReadOverrideSearch(const Place& at, v1::Search* out) { return ReadAnySearch(at, true, out); }

}  // namespace stepcurve
