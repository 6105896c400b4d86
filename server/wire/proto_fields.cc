// SPDX-License-Identifier: Apache-2.0
#include "server/wire/proto_fields.h"

#include <cmath>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>
#include <google/protobuf/unknown_field_set.h>

#include "absl/strings/str_cat.h"

#include "proto/support/status_macros.h"
#include "server/core/field_error.h"

namespace stepcurve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Messages that the sweep file does not spell: {min, max} stands where the contract has range {min, max}.
bool IsUnspelled(const Message& message) {
  const auto* type = message.GetDescriptor();
  return type == v1::SpaceEntry::Range::descriptor() || type == v1::SpaceEntry::Values::descriptor() ||
         type == v1::BatchSizes::Geometric::descriptor() || type == v1::Override::Goals::descriptor();
}

std::string Join(const std::string& path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

std::string ChildPath(const std::string& path, const FieldDescriptor& field, int index, const Message& child) {
  if (IsUnspelled(child)) return path;
  if (child.GetDescriptor() == v1::SpaceEntry::descriptor()) {
    return absl::StrCat(Join(path, field.name()), ".", static_cast<const v1::SpaceEntry&>(child).name());
  }
  return field.is_repeated() ? absl::StrCat(Join(path, field.name()), "[", index, "]") : Join(path, field.name());
}

absl::Status CheckFinite(double value, const std::string& path) {
  if (std::isfinite(value)) return absl::OkStatus();
  return FieldError(path, absl::StrCat("is ", value, "; numbers must be finite"));
}

absl::Status CheckNumbers(const Message& message, const FieldDescriptor& field, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) return CheckFinite(reflection.GetDouble(message, &field), path);
  const auto values = reflection.GetRepeatedFieldRef<double>(message, &field);
  for (int i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values.Get(i))) return CheckFinite(values.Get(i), absl::StrCat(path, "[", i, "]"));
  }
  return absl::OkStatus();
}

absl::Status Check(const Message& message, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  if (const auto& unknown = reflection.GetUnknownFields(message); !unknown.empty()) {
    return FieldError(path, absl::StrCat("has a field, number ", unknown.field(0).number(),
                                         ", that this server does not know; is the client newer than the server?"));
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      // A fixed number is the entry itself.
      const bool entry_itself = field->containing_type() == v1::SpaceEntry::descriptor();
      STEPCURVE_RETURN_IF_ERROR(CheckNumbers(message, *field, entry_itself ? path : Join(path, field->name())));
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const Message& child = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                  : reflection.GetMessage(message, field);
      STEPCURVE_RETURN_IF_ERROR(Check(child, ChildPath(path, *field, i, child)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFields(const v1::SweepSpec& spec) { return Check(spec, ""); }

}  // namespace stepcurve
