// SPDX-License-Identifier: Apache-2.0
#include "client/sweep_file/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <string>

namespace stepcurve {
namespace {

struct Case {
  std::string text;
  std::optional<double> real;
  std::optional<int64_t> integer;
};

// For the names that ctest shows.
void PrintTo(const Case& row, std::ostream* out) { *out << row.text; }

class NumberTest : public ::testing::TestWithParam<Case> {};

TEST_P(NumberTest, IsReadExactlyOrRefused) {
  const Case& row = GetParam();
  const absl::StatusOr<double> real = ParseReal(row.text);
  ASSERT_EQ(real.ok(), row.real.has_value()) << real.status();
  if (real.ok()) {
    EXPECT_EQ(*real, *row.real);
    EXPECT_EQ(std::signbit(*real), std::signbit(*row.real));
  } else {
    EXPECT_THAT(std::string(real.status().message()), ::testing::HasSubstr(row.text));
  }
  const absl::StatusOr<int64_t> integer = ParseInteger(row.text);
  ASSERT_EQ(integer.ok(), row.integer.has_value()) << integer.status();
  if (integer.ok()) {
    EXPECT_EQ(*integer, *row.integer);
  }
}

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

INSTANTIATE_TEST_SUITE_P(
    Accepted, NumberTest,
    ::testing::Values(Case{"0", 0.0, 0}, Case{"-0", -0.0, 0}, Case{"1e-3", 1e-3, {}}, Case{"1.0e-3", 1e-3, {}},
                      Case{"1E-3", 1e-3, {}}, Case{"1e-03", 1e-3, {}}, Case{"1e+3", 1e3, 1000}, Case{".5", .5, {}},
                      Case{"-.5", -.5, {}}, Case{"5.", 5.0, 5}, Case{"5000", 5e3, 5000}, Case{"1e3", 1e3, 1000},
                      Case{"1.5e3", 1.5e3, 1500}, Case{"1.0", 1.0, 1}, Case{"1.5", 1.5, {}}, Case{"0e5", 0.0, 0},
                      Case{"2147483647", 2147483647.0, 2147483647}, Case{"2147483648", 2147483648.0, 2147483648},
                      Case{"9007199254740993", 9007199254740992.0, 9007199254740993},
                      Case{"9223372036854775807", 0x1p63, kMax}, Case{"9223372036854775808", 0x1p63, {}},
                      Case{"9.223372036854775807e18", 0x1p63, kMax}, Case{"-9223372036854775808", -0x1p63, kMin},
                      Case{"-9223372036854775809", -0x1p63, {}}, Case{"1e18", 1e18, 1'000'000'000'000'000'000},
                      Case{"1e19", 1e19, {}}, Case{"1e30", 1e30, {}}, Case{"1e308", 1e308, {}},
                      Case{"1e-320", 1e-320, {}}, Case{"4.9e-324", 4.9e-324, {}},
                      Case{"0.1000000000000000055511151231257827", 0.1, {}}));

INSTANTIATE_TEST_SUITE_P(Refused, NumberTest,
                         ::testing::Values(Case{"1_000"}, Case{"0x10"}, Case{"0o10"}, Case{"010"}, Case{"00"},
                                           Case{"-01"}, Case{"01.5"}, Case{"yes"}, Case{"no"}, Case{"true"},
                                           Case{"null"}, Case{"~"}, Case{".nan"}, Case{".NaN"}, Case{".inf"},
                                           Case{"-.inf"}, Case{"nan"}, Case{"inf"}, Case{"Infinity"}, Case{"+1"},
                                           Case{"1e"}, Case{"e5"}, Case{"1e+"}, Case{"."}, Case{"-"}, Case{"--1"},
                                           Case{"1 "}, Case{" 1"}, Case{"1,000"}, Case{"1e400"}, Case{"-1e400"},
                                           Case{"1e-400"}, Case{"1d5"}, Case{"1f"}, Case{"5%"}, Case{"1:30"}));

TEST(FormatRealTest, ReadsBackAsTheSameDouble) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (!std::isfinite(value)) continue;
    const absl::StatusOr<double> back = ParseReal(FormatReal(value));
    ASSERT_TRUE(back.ok()) << back.status();
    uint64_t bits_back;
    std::memcpy(&bits_back, &*back, sizeof(bits_back));
    ASSERT_EQ(bits_back, bits) << FormatReal(value);
  }
}

TEST(FormatRealTest, WritesWhatPeopleWrite) {
  EXPECT_EQ(FormatReal(0.9999), "0.9999");
  EXPECT_EQ(FormatReal(65536), "65536");
  EXPECT_EQ(FormatReal(2400000), "2400000");
  EXPECT_EQ(FormatReal(1e-4), "1e-4");
  EXPECT_EQ(FormatReal(1e-10), "1e-10");
  EXPECT_EQ(FormatReal(1e30), "1e30");
  EXPECT_EQ(FormatReal(-0.0), "-0");
  EXPECT_EQ(FormatReal(0.01), "0.01");
}

TEST(LooksLikeNumberTest, TellsMistakesFromText) {
  for (const char* text : {"010", "0x10", "1_000", "+1", ".nan", ".inf", "-.inf", "1:30"}) {
    EXPECT_TRUE(LooksLikeNumber(text)) << text;
  }
  for (const char* text : {"5", "crop_flip", "nan", "yes", "-", ".", "e5"}) EXPECT_FALSE(LooksLikeNumber(text)) << text;
}

}  // namespace
}  // namespace stepcurve
