// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/sweep_file/file_error.h"
#include "client/sweep_file/number.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

// The only place where yaml-cpp may throw.
absl::Status CatchYaml(const std::function<absl::Status()>& body) try {
  return body();
} catch (const YAML::Exception& e) {
  return FileError(e.mark.is_null() ? 1 : e.mark.line + 1, "", absl::StrCat("not YAML: ", e.msg));
}

// Builds the tree from the parser's events, which, other than yaml-cpp's nodes, still tell of aliases, anchors, quotes
// and duplicate keys. Keeps the first error and ignores what follows it.
class TreeBuilder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Check(mark, "?", anchor);
    // The parser stands at the next token: an empty value is on the line of its key.
    Place(mark, [&](YamlNode& node) {
      if (!open_.empty() && open_.back().key.has_value()) node.line = open_.back().key_line;
    });
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Refuse(mark, "aliases are refused; write it out"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    Check(mark, tag, anchor);
    Frame* map = open_.empty() || open_.back().node.kind != YamlNode::Kind::kMap ? nullptr : &open_.back();
    if (map != nullptr && !map->key.has_value()) {
      TakeKey(map, mark, text);
      return;
    }
    Place(mark, [&](YamlNode& node) {
      node.kind = YamlNode::Kind::kScalar;
      node.text = text;
      node.quoted = tag == "!";
    });
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

  absl::StatusOr<YamlNode> Finish() {
    if (!error_.ok()) return error_;
    return std::move(root_);
  }

 private:
  // A list or map whose end has not come yet.
  struct Frame {
    YamlNode node;
    std::optional<std::string> key;  // A key whose value has not come yet.
    int key_line = 1;
  };

  // "search.space.momentum": of what comes next.
  std::string Path() const {
    std::string path;
    for (const Frame& frame : open_) {
      if (frame.node.kind == YamlNode::Kind::kList) {
        absl::StrAppend(&path, "[", frame.node.items.size(), "]");
      } else if (frame.key.has_value()) {
        absl::StrAppend(&path, path.empty() ? "" : ".", *frame.key);
      }
    }
    return path;
  }

  void Refuse(const YAML::Mark& mark, absl::string_view why) {
    if (error_.ok()) error_ = FileError(mark.line + 1, Path(), why);
  }

  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "anchors are refused; write it out");
    if (!tag.empty() && tag != "?" && tag != "!") {
      Refuse(mark, absl::StrFormat("tags are refused: \"%s\"; a value has the type of its field", tag));
    }
  }

  void TakeKey(Frame* map, const YAML::Mark& mark, const std::string& name) {
    for (const YamlNode::Field& field : map->node.fields) {
      if (field.name != name) continue;
      map->key = name;
      Refuse(mark, absl::StrFormat("given twice, first on line %d", field.line));
    }
    map->key = name;
    map->key_line = mark.line + 1;
  }

  template <typename Fill>
  void Place(const YAML::Mark& mark, Fill fill) {
    YamlNode node;
    node.line = mark.line + 1;
    fill(node);
    Put(std::move(node));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    Check(mark, tag, anchor);
    if (!open_.empty() && open_.back().node.kind == YamlNode::Kind::kMap && !open_.back().key.has_value()) {
      Refuse(mark, "a key must be plain text");
      open_.back().key = "";
    }
    open_.emplace_back();
    open_.back().node.kind = kind;
    open_.back().node.line = mark.line + 1;
  }

  void Close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Put(std::move(node));
  }

  // A finished node goes to where the parser stands.
  void Put(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kList) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (!parent.key.has_value()) {  // A null key.
      if (error_.ok()) error_ = FileError(node.line, Path(), "a key must be plain text");
      parent.key = "";
      return;
    }
    parent.node.fields.push_back({*std::move(parent.key), parent.key_line, std::move(node)});
    parent.key.reset();
  }

  YamlNode root_;
  std::vector<Frame> open_;
  absl::Status error_;
};

}  // namespace

std::string YamlNode::Describe() const {
  switch (kind) {
    case Kind::kMap:
      return "a map";
    case Kind::kList:
      return "a list";
    case Kind::kNothing:
      return "nothing";
    case Kind::kScalar:
      break;
  }
  if (quoted) return absl::StrFormat("the quoted text \"%s\"", text);
  if (IsNumber(text)) return absl::StrCat("the number ", text);
  return absl::StrFormat("\"%s\"", text);
}

int YamlNode::LineOf(absl::string_view path) const {
  const YamlNode* at = this;
  int line = 1;
  while (!path.empty()) {
    const bool item = absl::ConsumePrefix(&path, "[");
    if (!item) absl::ConsumePrefix(&path, ".");
    const absl::string_view name = path.substr(0, path.find_first_of(item ? "]" : ".["));
    path.remove_prefix(std::min(path.size(), name.size() + (item ? 1 : 0)));
    const YamlNode* next = nullptr;
    if (size_t index = 0; item) {
      if (!absl::SimpleAtoi(name, &index) || index >= at->items.size()) return line;
      next = &at->items[index];
      line = next->line;
    } else {
      for (const Field& field : at->fields) {
        if (field.name != name) continue;
        next = &field.value;
        line = field.line;
      }
    }
    if (next == nullptr) return line;
    at = next;
  }
  return line;
}

absl::StatusOr<YamlNode> ParseYaml(absl::string_view text) {
  TreeBuilder builder;
  STEPCURVE_RETURN_IF_ERROR(CatchYaml([&] {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return FileError(1, "", "the file is empty");
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      absl::StatusOr<YamlNode> more = second.Finish();
      if (!more.ok()) return more.status();
      return FileError(more->line, "", "a second document starts here; a file holds one sweep");
    }
    return absl::OkStatus();
  }));
  return builder.Finish();
}

}  // namespace stepcurve
