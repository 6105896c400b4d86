// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace stepcurve {

// A named option of a data set or model.
struct Option {
  using Value = std::variant<bool, int64_t, double, std::string>;
  std::string name;
  Value value;
  friend bool operator==(const Option&, const Option&) = default;
};

// Data set, model, optimizer and the options that differ from the catalogue's defaults, sorted by name.
struct Workload {
  std::string dataset;
  std::vector<Option> data;
  std::string model;
  std::vector<Option> options;
  std::string optimizer;
  std::string variant;
  friend bool operator==(const Workload&, const Workload&) = default;
};

// dataset/model/optimizer[@variant].
std::string WorkloadAddress(const Workload& workload);

// Canonical text of the content, without the variant: the same for the same workload on every server and release.
std::string WorkloadIdentity(const Workload& workload);

}  // namespace stepcurve
