// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stepcurve {

// One node of a YAML document, as written: scalars keep their text, maps their order, and everything its line.
struct YamlNode {
  enum class Kind { kNothing, kScalar, kList, kMap };
  struct Field;

  Kind kind = Kind::kNothing;
  int line = 1;                 // From 1.
  bool quoted = false;          // kScalar: in quotes or as a block, so that it is text whatever it looks like.
  std::string text;             // kScalar.
  std::vector<YamlNode> items;  // kList.
  std::vector<Field> fields;    // kMap, in the author's order, keys unique.

  // Empty, or a plain null or ~.
  bool IsNull() const { return kind == Kind::kNothing; }
  // Line of the field "search.space.momentum" or "overrides[1].for" below this node, or of the nearest field around it
  // that is there; 1 for all else.
  int LineOf(absl::string_view path) const;
  // "a map", "a list", "nothing", "text", "a number", for messages.
  std::string Describe() const;
};

struct YamlNode::Field {
  std::string name;
  int line = 1;  // Of the key.
  YamlNode value;
};

// Parses a text that holds one document. Refuses what a sweep file may not contain: aliases, anchors, tags, duplicate
// keys, keys that are no plain text, a second document. The errors are FileErrors (file_error.h).
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text);

}  // namespace stepcurve
