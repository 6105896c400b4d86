// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/fields.h"

#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/sweep_file/file_error.h"
#include "client/sweep_file/number.h"
#include "proto/support/catalogue.h"
#include "proto/support/status_macros.h"

namespace stepcurve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status NotA(const Place& at, absl::string_view wanted) {
  return Wrong(at, absl::StrFormat("must be %s, not %s", wanted, at.node.Describe()));
}

// The text of a plain scalar that is to be a number.
absl::StatusOr<absl::string_view> NumberText(const Place& at, absl::string_view wanted) {
  if (at.node.kind != YamlNode::Kind::kScalar) return NotA(at, wanted);
  if (at.node.quoted) {
    if (!IsNumber(at.node.text)) return NotA(at, wanted);
    return Wrong(at, absl::StrFormat("a quoted number is refused; write %s without quotes", at.node.text));
  }
  return absl::string_view(at.node.text);
}

absl::Status ReadPlain(const Place& at, const FieldDescriptor* field, Message* out) {
  const Reflection* reflection = out->GetReflection();
  if (field->is_repeated()) {
    return ReadList(at, [&](const Place& item) -> absl::Status {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        STEPCURVE_ASSIGN_OR_RETURN(std::string text, ReadText(item));
        reflection->AddString(out, field, std::move(text));
      } else {
        STEPCURVE_ASSIGN_OR_RETURN(const int64_t value, ReadInteger(item));
        reflection->AddInt64(out, field, value);
      }
      return absl::OkStatus();
    });
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING: {
      STEPCURVE_ASSIGN_OR_RETURN(std::string text, ReadText(at));
      reflection->SetString(out, field, std::move(text));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      STEPCURVE_ASSIGN_OR_RETURN(const bool flag, ReadFlag(at));
      reflection->SetBool(out, field, flag);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      STEPCURVE_ASSIGN_OR_RETURN(const double value, ReadReal(at));
      reflection->SetDouble(out, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT64: {
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t value, ReadInteger(at));
      reflection->SetInt64(out, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      STEPCURVE_ASSIGN_OR_RETURN(const int64_t value, ReadInteger(at));
      if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
        return Wrong(at, absl::StrFormat("%d is out of range", value));
      }
      reflection->SetInt32(out, field, static_cast<int32_t>(value));
      return absl::OkStatus();
    }
    default:
      return absl::InternalError(absl::StrFormat("%s is no plain field", field->full_name()));
  }
}

}  // namespace

absl::Status Wrong(const Place& at, absl::string_view message) { return FileError(at.line, at.path, message); }

absl::StatusOr<std::string> ReadText(const Place& at) {
  if (at.node.kind != YamlNode::Kind::kScalar) return NotA(at, "text");
  return at.node.text;
}

absl::StatusOr<double> ReadReal(const Place& at) {
  STEPCURVE_ASSIGN_OR_RETURN(const absl::string_view text, NumberText(at, "a number"));
  absl::StatusOr<double> value = ParseReal(text);
  if (!value.ok()) return Wrong(at, value.status().message());
  return value;
}

absl::StatusOr<int64_t> ReadInteger(const Place& at) {
  STEPCURVE_ASSIGN_OR_RETURN(const absl::string_view text, NumberText(at, "an integer"));
  absl::StatusOr<int64_t> value = ParseInteger(text);
  if (!value.ok()) return Wrong(at, value.status().message());
  return value;
}

absl::StatusOr<bool> ReadFlag(const Place& at) {
  if (at.node.kind == YamlNode::Kind::kScalar && !at.node.quoted) {
    if (at.node.text == "true") return true;
    if (at.node.text == "false") return false;
  }
  return NotA(at, "true or false");
}

absl::Status ReadList(const Place& at, const Read& item) {
  if (at.node.kind != YamlNode::Kind::kList) return NotA(at, "a list");
  for (size_t i = 0; i < at.node.items.size(); ++i) {
    const YamlNode& node = at.node.items[i];
    STEPCURVE_RETURN_IF_ERROR(item(Place{node, absl::StrCat(at.path, "[", i, "]"), node.line}));
  }
  return absl::OkStatus();
}

absl::Status ReadNames(const Place& at, google::protobuf::RepeatedPtrField<std::string>* out) {
  const Read one = [out](const Place& place) -> absl::Status {
    STEPCURVE_ASSIGN_OR_RETURN(*out->Add(), ReadText(place));
    return absl::OkStatus();
  };
  if (at.node.kind != YamlNode::Kind::kList) {
    if (at.node.kind != YamlNode::Kind::kScalar) return NotA(at, "a name or a list of names");
    return one(at);
  }
  if (at.node.items.empty()) return Wrong(at, "must not be an empty list");
  return ReadList(at, one);
}

absl::Status ReadMap(const Place& at, const std::vector<FieldReader>& table) {
  return ReadOpenMap(at, [&](const std::string& key, const Place& place) {
    const auto row = std::find_if(table.begin(), table.end(), [&](const FieldReader& r) { return r.name == key; });
    if (row != table.end()) return row->read(place);
    std::vector<std::string> known;
    for (const FieldReader& reader : table) known.push_back(reader.name);
    const std::vector<std::string> nearest = NearestNames(key, known);
    return Wrong(place, absl::StrFormat("unknown field%s; the fields here are %s",
                                        nearest.empty() ? "" : absl::StrCat(", nearest is ", nearest.front()),
                                        absl::StrJoin(known, ", ")));
  });
}

absl::Status ReadOpenMap(const Place& at,
                         const std::function<absl::Status(const std::string& key, const Place&)>& field) {
  if (at.node.kind != YamlNode::Kind::kMap) return NotA(at, "a map");
  for (const YamlNode::Field& entry : at.node.fields) {
    const std::string path = absl::StrCat(at.path, at.path.empty() ? "" : ".", entry.name);
    STEPCURVE_RETURN_IF_ERROR(field(entry.name, Place{entry.value, path, entry.line}));
  }
  return absl::OkStatus();
}

FieldReader Plain(google::protobuf::Message* out, const std::string& name) {
  const FieldDescriptor* field = out->GetDescriptor()->FindFieldByName(name);
  if (field == nullptr) {
    return {name,
            [name](const Place&) { return absl::InternalError(absl::StrCat("the contract has no field ", name)); }};
  }
  return {name, [field, out](const Place& at) { return ReadPlain(at, field, out); }};
}

}  // namespace stepcurve
