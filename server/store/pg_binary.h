// SPDX-License-Identifier: Apache-2.0
//
// PostgreSQL's binary representation of the types that we send by libpq: parameters and COPY share it. Every function
// appends the value's bytes without the length that goes before them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/time/time.h"
#include "absl/types/span.h"

namespace stepcurve::pg {

// Type ids, fixed in PostgreSQL's catalogue.
inline constexpr uint32_t kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat8 = 701,
                          kTimestamptz = 1184, kInt4Array = 1007, kTextArray = 1009, kInt8Array = 1016,
                          kFloat8Array = 1022;

// The bits of an integer or a double, most significant byte first.
template <typename T>
auto BigEndian(T value) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  Bits bits;
  std::memcpy(&bits, &value, sizeof bits);
  if constexpr (sizeof(T) == 8) {
    return __builtin_bswap64(bits);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(bits);
  } else {
    return __builtin_bswap16(bits);
  }
}

template <typename T>
void Append(std::string& out, T value) {
  const auto bits = BigEndian(value);
  out.append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

template <typename T>
T Read(const char* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  const auto bits = BigEndian(value);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline int64_t TimestampMicros(absl::Time time) {
  static const absl::Time kEpoch = absl::FromUnixSeconds(946684800);  // 2000-01-01 00:00 UTC
  return absl::ToInt64Microseconds(time - kEpoch);
}

inline void AppendArrayHead(std::string& out, uint32_t element_type, size_t count) {
  Append<int32_t>(out, count > 0 ? 1 : 0);  // Dimensions; an empty array has none.
  Append<int32_t>(out, 0);                  // No nulls.
  Append<uint32_t>(out, element_type);
  if (count > 0) {
    Append<int32_t>(out, static_cast<int32_t>(count));
    Append<int32_t>(out, 1);  // Lower bound.
  }
}

// Integers and doubles: each a length and the bits.
template <typename T>
void AppendArray(std::string& out, uint32_t element_type, absl::Span<const T> values) {
  AppendArrayHead(out, element_type, values.size());
  constexpr size_t kElement = sizeof(int32_t) + sizeof(T);
  const size_t start = out.size();
  out.resize(start + values.size() * kElement);
  char* at = out.data() + start;
  const auto length = BigEndian(static_cast<int32_t>(sizeof(T)));
  for (const T value : values) {
    const auto bits = BigEndian(value);
    std::memcpy(at, &length, sizeof length);
    std::memcpy(at + sizeof length, &bits, sizeof bits);
    at += kElement;
  }
}

inline void AppendTexts(std::string& out, absl::Span<const std::string> values) {
  AppendArrayHead(out, kText, values.size());
  for (const std::string& value : values) {
    Append<int32_t>(out, static_cast<int32_t>(value.size()));
    out.append(value);
  }
}

}  // namespace stepcurve::pg
