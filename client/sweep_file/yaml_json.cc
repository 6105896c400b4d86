// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/yaml_json.h"

#include "client/sweep_file/number.h"
#include "client/sweep_file/yaml_tree.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

using Json = nlohmann::ordered_json;

Json FromNode(const YamlNode& node) {
  Json json;
  switch (node.kind) {
    case YamlNode::Kind::kNothing:
      return nullptr;
    case YamlNode::Kind::kList:
      json = Json::array();
      for (const YamlNode& item : node.items) json.push_back(FromNode(item));
      return json;
    case YamlNode::Kind::kMap:
      json = Json::object();
      for (const YamlNode::Field& field : node.fields) json[field.name] = FromNode(field.value);
      return json;
    case YamlNode::Kind::kScalar:
      break;
  }
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  const absl::StatusOr<int64_t> integer = ParseInteger(node.text);
  if (integer.ok()) return *integer;
  const absl::StatusOr<double> real = ParseReal(node.text);
  if (real.ok()) return *real;
  return node.text;
}

}  // namespace

absl::StatusOr<Json> YamlJson(absl::string_view yaml) {
  STEPCURVE_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(yaml));
  return FromNode(root);
}

}  // namespace stepcurve
