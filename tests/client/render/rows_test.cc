// SPDX-License-Identifier: Apache-2.0
#include "client/render/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace stepcurve {
namespace {

const std::vector<Column> kColumns = {
    {"name", "name"}, {"value", "value", Column::Align::kRight}, {"hidden", ""}, {"", "people"}};

std::string Printed(Format format, const std::vector<std::vector<Row>>& batches) {
  std::ostringstream out;
  RowPrinter printer(format, kColumns, &out);
  for (const auto& rows : batches) printer.Print(rows);
  return out.str();
}

TEST(RowPrinterTest, PrintsOneObjectALine) {
  EXPECT_EQ(Printed(Format::kJson,
                    {{{Cell::Text("a\"b\n"), Cell::Integer(9007199254740993), Cell::Flag(true), Cell::Shown("x")},
                      {Cell::Nothing(), Cell::Real(0.1), Cell::Flag(false), Cell::Shown("")}}}),
            "{\"name\":\"a\\\"b\\n\",\"value\":9007199254740993,\"hidden\":true}\n"
            "{\"name\":null,\"value\":0.1,\"hidden\":false}\n");
}

TEST(RowPrinterTest, WritesWhatJsonCannotHoldAsText) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(JsonText(JsonReal(std::nan(""))), "\"NaN\"");
  EXPECT_EQ(JsonText(JsonReal(infinity)), "\"Infinity\"");
  EXPECT_EQ(JsonText(JsonReal(-infinity)), "\"-Infinity\"");
  EXPECT_EQ(JsonText(JsonReal(-0.0)), "-0.0");
  EXPECT_EQ(JsonText(JsonReal(5e-324)), "5e-324");
  EXPECT_EQ(JsonText(JsonReal(1.0 / 3)), "0.3333333333333333");
  // Bytes that are no UTF-8.
  EXPECT_EQ(JsonText(nlohmann::ordered_json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(RowPrinterTest, QuotesCsvWhereItMust) {
  EXPECT_EQ(Printed(Format::kCsv, {{{Cell::Text("a,b"), Cell::Real(std::nan("")), Cell::Flag(true), Cell::Shown("x")}},
                                   {{Cell::Text("say \"hi\""), Cell::Nothing(), Cell::Flag(false), Cell::Shown("x")}}}),
            "name,value,hidden\n\"a,b\",NaN,true\n\"say \"\"hi\"\"\",,false\n");
  EXPECT_EQ(CsvField(nlohmann::ordered_json::array({"a", "b:c", 3})), "a;b:c;3");
  EXPECT_EQ(CsvField(1e-4), "1e-04");
  EXPECT_EQ(CsvField(std::numeric_limits<int64_t>::max()), "9223372036854775807");
}

TEST(RowPrinterTest, AlignsTablesAndWidensForLaterRows) {
  EXPECT_EQ(
      Printed(Format::kTable, {{{Cell::Text("a"), Cell::Integer(5), Cell::Flag(true), Cell::Shown("x")},
                                {Cell::Text("Größe"), Cell::Real(0.25), Cell::Flag(true), Cell::Shown("")}},
                               {{Cell::Text("longer"), Cell::Integer(123456), Cell::Flag(true), Cell::Shown("y")}}}),
      "name   value  people\n"
      "a          5  x\n"
      "Größe   0.25\n"
      "longer  123456  y\n");
}

TEST(RowPrinterTest, PrintsTheHeaderOfAnEmptyList) {
  EXPECT_EQ(Printed(Format::kCsv, {{}}), "name,value,hidden\n");
  EXPECT_EQ(Printed(Format::kTable, {{}}), "name  value  people\n");
  EXPECT_EQ(Printed(Format::kJson, {{}}), "");
}

}  // namespace
}  // namespace stepcurve
