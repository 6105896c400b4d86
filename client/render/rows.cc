// SPDX-License-Identifier: Apache-2.0
#include "client/render/rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/render/figures.h"
#include "proto/support/goal.h"

namespace stepcurve {
namespace {

using Json = nlohmann::ordered_json;

// Characters, not bytes: names may hold any UTF-8.
size_t Width(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

Cell Cell::Text(absl::string_view text) { return {std::string(text), std::string(text)}; }
Cell Cell::Text(absl::string_view text, absl::string_view shown) { return {std::string(text), std::string(shown)}; }
Cell Cell::Integer(int64_t n) { return {n, absl::StrCat(n)}; }
Cell Cell::Real(double value) { return {JsonReal(value), Value(value)}; }
Cell Cell::Flag(bool flag) { return {flag, flag ? "yes" : "no"}; }

Json JsonReal(double value) {
  if (std::isfinite(value)) return value;
  return FormatDouble(value);
}

std::string JsonText(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string CsvField(const Json& value) {
  std::string text;
  if (value.is_null()) return "";
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (value.is_number_float()) {
    text = FormatDouble(value.get<double>());
  } else if (value.is_array()) {
    text = absl::StrJoin(value, ";", [](std::string* out, const Json& item) {
      out->append(item.is_string() ? item.get<std::string>() : JsonText(item));
    });
  } else {
    text = JsonText(value);
  }
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

RowPrinter::RowPrinter(Format format, std::vector<Column> columns, std::ostream* out)
    : format_(format), columns_(std::move(columns)), out_(out) {}

void RowPrinter::Print(const std::vector<Row>& rows) {
  if (format_ == Format::kTable) {
    PrintTable(rows);
    return;
  }
  if (format_ == Format::kCsv && !header_printed_) {
    std::vector<std::string> names;
    for (const Column& column : columns_) {
      if (!column.name.empty()) names.push_back(CsvField(column.name));
    }
    *out_ << absl::StrJoin(names, ",") << "\n";
    header_printed_ = true;
  }
  for (const Row& row : rows) {
    if (format_ == Format::kCsv) {
      std::vector<std::string> fields;
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!columns_[i].name.empty()) fields.push_back(CsvField(row[i].value));
      }
      *out_ << absl::StrJoin(fields, ",") << "\n";
    } else {
      Json object = Json::object();
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!columns_[i].name.empty()) object[columns_[i].name] = row[i].value;
      }
      *out_ << JsonText(object) << "\n";
    }
  }
  out_->flush();
}

void RowPrinter::PrintTable(const std::vector<Row>& rows) {
  widths_.resize(columns_.size(), 0);
  std::vector<std::string> line(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) {
    line[i] = columns_[i].title;
    widths_[i] = std::max(widths_[i], Width(line[i]));
    for (const Row& row : rows) widths_[i] = std::max(widths_[i], Width(row[i].shown));
  }
  if (!header_printed_) PrintLine(line);
  header_printed_ = true;
  for (const Row& row : rows) {
    for (size_t i = 0; i < columns_.size(); ++i) line[i] = row[i].shown;
    PrintLine(line);
  }
  out_->flush();
}

void RowPrinter::PrintLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].title.empty()) continue;
    const std::string padding(widths_[i] - std::min(widths_[i], Width(cells[i])), ' ');
    const bool right = columns_[i].align == Column::Align::kRight;
    absl::StrAppend(&line, line.empty() ? "" : "  ", right ? padding : "", cells[i], right ? "" : padding);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out_ << line << "\n";
}

}  // namespace stepcurve
