// SPDX-License-Identifier: Apache-2.0
// A result described once: one list of fields gives the columns of a table and the keys of JSON.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/table.h"

namespace fib::report {

template <class Row>
struct Field {
  std::string key;    ///< in JSON, "outer.inner" within an object; empty: in the table alone
  std::string title;  ///< of its column; empty: in JSON alone
  Table::Align align = Table::Align::right;
  std::function<nlohmann::ordered_json(const Row&)> json;
  std::function<std::string(const Row&)> text;
};

template <class Row>
using Fields = std::vector<Field<Row>>;

template <class Value>
nlohmann::ordered_json field_json(const Value& value) {
  return value;
}
template <class Value>
nlohmann::ordered_json field_json(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// `value(row)` is what JSON has; the table has `format(value(row))`.
template <class Row, class Value, class Format>
Field<Row> field(std::string key, std::string title, Value value, Format format,
                 Table::Align align = Table::Align::right) {
  return {std::move(key), std::move(title), align, [value](const Row& row) { return field_json(value(row)); },
          [value, format](const Row& row) { return std::string(format(value(row))); }};
}

/// Text, the same in both.
template <class Row, class Value>
Field<Row> text_field(std::string key, std::string title, Value value) {
  const auto as_it_is = [](const std::string& text) { return text; };
  return field<Row>(std::move(key), std::move(title), value, as_it_is, Table::Align::left);
}

/// A figure for machines alone.
template <class Row, class Value>
Field<Row> hidden_field(std::string key, Value value) {
  return {std::move(key), "", Table::Align::right, [value](const Row& row) { return field_json(value(row)); }, {}};
}

template <class Row>
nlohmann::ordered_json fields_json(const Fields<Row>& fields, const Row& row) {
  nlohmann::ordered_json json;
  for (const Field<Row>& f : fields) {
    if (f.key.empty()) continue;
    const size_t dot = f.key.find('.');
    auto& place = dot == std::string::npos ? json[f.key] : json[f.key.substr(0, dot)][f.key.substr(dot + 1)];
    place = f.json(row);
  }
  return json;
}

template <class Row>
nlohmann::ordered_json fields_json(const Fields<Row>& fields, const std::vector<Row>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) list.push_back(fields_json(fields, row));
  return list;
}

/// The first `leading` cells of a row are left empty where they repeat the row above.
template <class Row>
std::string fields_table(const Fields<Row>& fields, const std::vector<Row>& rows, size_t leading = 0) {
  std::vector<Table::Column> columns;
  for (const Field<Row>& f : fields)
    if (!f.title.empty()) columns.push_back({f.title, f.align});
  Table table(columns);
  std::vector<std::string> above;
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Field<Row>& f : fields)
      if (!f.title.empty()) cells.push_back(f.text(row));
    std::vector<std::string> shown = cells;
    for (size_t i = 0; i < leading && !above.empty() && cells[i] == above[i]; ++i) shown[i].clear();
    table.add_row(std::move(shown));
    above = std::move(cells);
  }
  return table.to_string();
}

}  // namespace fib::report
