// SPDX-License-Identifier: Apache-2.0
//
// Reads maps of a sweep file field by field. A section is a table of its fields:
//
//   return ReadMap(at, {Plain(out, "schedule"), Plain(out, "precision")});
//
// Every failure is a FileError that names file line and path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/sweep_file/yaml_tree.h"
#include "google/protobuf/message.h"

namespace stepcurve {

// A value and where it stands.
struct Place {
  const YamlNode& node;
  std::string path;
  int line = 1;  // Of its key, or of the item.
};

absl::Status Wrong(const Place& at, absl::string_view message);

// Each refuses every other type, and what the grammar of numbers refuses.
absl::StatusOr<std::string> ReadText(const Place& at);  // Any scalar but null.
absl::StatusOr<double> ReadReal(const Place& at);
absl::StatusOr<int64_t> ReadInteger(const Place& at);
absl::StatusOr<bool> ReadFlag(const Place& at);

using Read = std::function<absl::Status(const Place&)>;

absl::Status ReadList(const Place& at, const Read& item);

// One name or a list of names.
absl::Status ReadNames(const Place& at, google::protobuf::RepeatedPtrField<std::string>* out);

struct FieldReader {
  std::string name;
  Read read;
};

// Refuses fields that are not in the table and says which are.
absl::Status ReadMap(const Place& at, const std::vector<FieldReader>& table);

// A map whose keys the file's author chooses.
absl::Status ReadOpenMap(const Place& at,
                         const std::function<absl::Status(const std::string& key, const Place&)>& field);

// The field of `out` that has the name, by its type in the contract: text, integer, real, flag, or a list of text or of
// integers. `out` outlives the reader.
FieldReader Plain(google::protobuf::Message* out, const std::string& name);

// A section of its own. `out` is only made when the file has the section.
template <typename Message>
FieldReader Section(const std::string& name, std::function<Message*()> out,
                    absl::Status (*read)(const Place&, Message*)) {
  return {name, [out, read](const Place& at) { return read(at, out()); }};
}

}  // namespace stepcurve
