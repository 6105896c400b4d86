// SPDX-License-Identifier: Apache-2.0
//
// Pieces of YAML as we write it: maps of scalars on one line, sections as indented blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// Text without quotes where that is safe in any place of a file and cannot be taken for a number, a flag or null.
std::string YamlText(absl::string_view text);

// [a, b].
template <typename Texts>
std::string YamlTextList(const Texts& texts) {
  const auto append = [](std::string* out, const auto& text) { out->append(YamlText(text)); };
  return absl::StrCat("[", absl::StrJoin(texts, ", ", append), "]");
}

// {key: value, ...} of the fields that are present; values are YAML already.
class YamlMap {
 public:
  YamlMap& Add(absl::string_view key, absl::string_view value, bool present = true);
  YamlMap& Add(int64_t key, int64_t value);
  std::string Done() const { return absl::StrCat("{", body_, "}"); }

 private:
  std::string body_;
};

// A map over several lines.
class YamlBlock {
 public:
  YamlBlock& Add(absl::string_view key, absl::string_view value, bool present = true);
  // A map or a list of items below its key.
  YamlBlock& Add(absl::string_view key, const YamlBlock& block, bool present = true);
  // The block's lines as one item of a list.
  YamlBlock& AddItem(absl::string_view value);
  YamlBlock& AddItem(const YamlBlock& block);
  bool empty() const { return lines_.empty(); }
  std::string Done() const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace stepcurve
