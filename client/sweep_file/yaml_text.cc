// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/yaml_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace stepcurve {

std::string YamlText(absl::string_view text) {
  bool plain = !text.empty() && (absl::ascii_isalpha(text[0]) || text[0] == '_') && text.back() != ' ';
  for (char c : text) plain = plain && (absl::ascii_isalnum(c) || absl::string_view("_./- ").find(c) != text.npos);
  for (absl::string_view word : {"null", "true", "false"}) plain = plain && !absl::EqualsIgnoreCase(text, word);
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&quoted, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

YamlMap& YamlMap::Add(absl::string_view key, absl::string_view value, bool present) {
  if (present) absl::StrAppend(&body_, body_.empty() ? "" : ", ", YamlText(key), ": ", value);
  return *this;
}

YamlMap& YamlMap::Add(int64_t key, int64_t value) {
  absl::StrAppend(&body_, body_.empty() ? "" : ", ", key, ": ", value);
  return *this;
}

YamlBlock& YamlBlock::Add(absl::string_view key, absl::string_view value, bool present) {
  if (present) lines_.push_back(absl::StrCat(YamlText(key), ": ", value));
  return *this;
}

YamlBlock& YamlBlock::Add(absl::string_view key, const YamlBlock& block, bool present) {
  if (!present) return *this;
  lines_.push_back(absl::StrCat(YamlText(key), ":"));
  for (const std::string& line : block.lines_) lines_.push_back(absl::StrCat("  ", line));
  return *this;
}

YamlBlock& YamlBlock::AddItem(absl::string_view value) {
  lines_.push_back(absl::StrCat("- ", value));
  return *this;
}

YamlBlock& YamlBlock::AddItem(const YamlBlock& block) {
  for (size_t i = 0; i < block.lines_.size(); ++i)
    lines_.push_back(absl::StrCat(i == 0 ? "- " : "  ", block.lines_[i]));
  return *this;
}

std::string YamlBlock::Done() const {
  std::string text;
  for (const std::string& line : lines_) absl::StrAppend(&text, line, "\n");
  return text;
}

}  // namespace stepcurve
