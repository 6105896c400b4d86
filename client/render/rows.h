// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace stepcurve {

enum class Format { kTable, kJson, kCsv };

// A column of what a command prints: `name` in JSON and CSV, `title` in tables. An empty title keeps it out of tables,
// an empty name keeps it out of JSON and CSV.
struct Column {
  enum class Align { kLeft, kRight };
  std::string name;
  std::string title;
  Align align = Align::kLeft;
};

// A value as programs read it, and as people do.
struct Cell {
  nlohmann::ordered_json value;  // Null: there is none.
  std::string shown;

  static Cell Nothing(absl::string_view shown = "") { return {nullptr, std::string(shown)}; }
  static Cell Text(absl::string_view text);
  // Something else for people: "9.81" rather than 9.8125.
  static Cell Text(absl::string_view text, absl::string_view shown);
  static Cell Integer(int64_t n);
  static Cell Real(double value);
  static Cell Flag(bool flag);
  // For people alone, in a column without a name.
  static Cell Shown(absl::string_view shown) { return {nullptr, std::string(shown)}; }
};
using Row = std::vector<Cell>;

// A double that JSON can hold: itself, or "NaN", "Infinity", "-Infinity".
nlohmann::ordered_json JsonReal(double value);

// On one line; what is no UTF-8 is replaced.
std::string JsonText(const nlohmann::ordered_json& value);

// A field of CSV, quoted where it has to be. Lists are joined with ";".
std::string CsvField(const nlohmann::ordered_json& value);

// Prints rows as they come: JSON one object a line; CSV with a header; a table whose columns are as wide as the rows of
// the first call (and wider where later ones need it).
class RowPrinter final {
 public:
  RowPrinter(Format format, std::vector<Column> columns, std::ostream* out);

  // Any number of times. Every row has a cell for every column.
  void Print(const std::vector<Row>& rows);

 private:
  void PrintTable(const std::vector<Row>& rows);
  void PrintLine(const std::vector<std::string>& cells);

  const Format format_;
  const std::vector<Column> columns_;
  std::ostream* const out_;  // Not owned; outlives the printer.
  bool header_printed_ = false;
  std::vector<size_t> widths_;
};

}  // namespace stepcurve
