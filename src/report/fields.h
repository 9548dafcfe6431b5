// SPDX-License-Identifier: Apache-2.0
// A result described once: one list of fields gives the columns of a table, in text and in HTML, and the keys of JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/drawing.h"
#include "report/text.h"

namespace fib::report {

template <class Row>
struct Field {
  std::string key;    ///< in JSON, "outer.inner" within an object; empty: in the table alone
  std::string title;  ///< of its column; empty: in JSON alone
  Table::Align align = Table::Align::right;
  std::function<nlohmann::ordered_json(const Row&)> json;
  std::function<std::string(const Row&)> text;
  std::function<std::string(const Row&)> html = {};  ///< a whole cell; empty: the text, escaped
};

template <class Row>
using Fields = std::vector<Field<Row>>;

/// The title of a column without a name: a table of such columns alone has no header.
inline constexpr const char* kUnnamed = " ";
/// What stands in a table where there is no value.
inline constexpr const char* kNoValue = "–";

/// Null where there is no number.
inline nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

template <class Value>
nlohmann::ordered_json field_json(const Value& value) {
  return value;
}
template <class Value>
nlohmann::ordered_json field_json(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}
inline nlohmann::ordered_json field_json(const std::optional<double>& value) { return or_null(value); }

/// `value(row)` is what JSON has; the table has `format(value(row))`, of an optional that is empty kNoValue.
template <class Row, class Value, class Format>
Field<Row> field(std::string key, std::string title, Value value, Format format,
                 Table::Align align = Table::Align::right) {
  const auto text = [value, format](const Row& row) -> std::string {
    const auto found = value(row);
    if constexpr (std::is_invocable_v<Format, decltype(found)>) {
      return format(found);
    } else {
      return found ? std::string(format(*found)) : kNoValue;
    }
  };
  return {std::move(key), std::move(title), align, [value](const Row& row) { return field_json(value(row)); }, text};
}

/// Text, the same in both.
template <class Row, class Value>
Field<Row> text_field(std::string key, std::string title, Value value) {
  const auto as_it_is = [](const std::string& text) { return text; };
  return field<Row>(std::move(key), std::move(title), value, as_it_is, Table::Align::left);
}

/// A number with so many digits behind the point, and a unit in the table.
template <class Row, class Value>
Field<Row> number_field(std::string key, std::string title, Value value, int digits, std::string unit = "") {
  const auto format = [digits, unit](double number) { return fixed(number, digits) + unit; };
  return field<Row>(std::move(key), std::move(title), value, format);
}

/// A whole number, in groups of three digits in the table.
template <class Row, class Value>
Field<Row> count_field(std::string key, std::string title, Value value) {
  return field<Row>(std::move(key), std::move(title), value, grouped);
}

/// A share of 1, in percent in the table.
template <class Row, class Value>
Field<Row> share_field(std::string key, std::string title, Value value, int digits) {
  const auto format = [digits](double share) { return fixed(100 * share, digits) + " %"; };
  return field<Row>(std::move(key), std::move(title), value, format);
}

/// In JSON alone.
template <class Row, class Value>
Field<Row> hidden_field(std::string key, Value value) {
  return {std::move(key), "", Table::Align::right, [value](const Row& row) { return field_json(value(row)); }, {}};
}

/// In JSON alone, and only in rows that have it.
template <class Row, class Value>
Field<Row> optional_field(std::string key, Value value) {
  const auto json = [value](const Row& row) {
    const auto found = value(row);
    return found ? nlohmann::ordered_json(*found) : nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded);
  };
  return {std::move(key), "", Table::Align::right, json, {}};
}

/// In the table alone.
template <class Row, class Text>
Field<Row> shown_field(std::string title, Text text, Table::Align align = Table::Align::right) {
  return {"", std::move(title), align, {}, text};
}

/// `more` behind `fields`.
template <class Row>
Fields<Row> joined_fields(Fields<Row> fields, const Fields<Row>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

template <class Row>
nlohmann::ordered_json fields_json(const Fields<Row>& fields, const Row& row) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Field<Row>& f : fields) {
    if (f.key.empty()) continue;
    nlohmann::ordered_json value = f.json(row);
    if (value.is_discarded()) continue;
    const size_t dot = f.key.find('.');
    auto& place = dot == std::string::npos ? json[f.key] : json[f.key.substr(0, dot)][f.key.substr(dot + 1)];
    place = std::move(value);
  }
  return json;
}

template <class Row>
nlohmann::ordered_json fields_json(const Fields<Row>& fields, const std::vector<Row>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) list.push_back(fields_json(fields, row));
  return list;
}

/// The fields that a table shows: those with a title that are not empty in every row.
template <class Row>
Fields<Row> shown_fields(const Fields<Row>& fields, const std::vector<Row>& rows) {
  Fields<Row> shown;
  for (const Field<Row>& f : fields) {
    const auto is_empty = [&](const Row& row) { return f.text(row).empty(); };
    if (!f.title.empty() && (rows.empty() || !std::all_of(rows.begin(), rows.end(), is_empty))) shown.push_back(f);
  }
  return shown;
}

/// The first `leading` cells of a row are left empty where they repeat the row above, and so do those before them.
template <class Row>
std::string fields_table(const Fields<Row>& fields, const std::vector<Row>& rows, size_t leading = 0) {
  const Fields<Row> shown = shown_fields(fields, rows);
  std::vector<Table::Column> columns;
  for (const Field<Row>& f : shown) columns.push_back({f.title, f.align});
  Table table(columns);
  std::vector<std::string> above;
  for (const Row& row : rows) {
    std::vector<std::string> cells;
    for (const Field<Row>& f : shown) cells.push_back(f.text(row));
    std::vector<std::string> written = cells;
    for (size_t i = 0; i < leading && !above.empty() && cells[i] == above[i]; ++i) written[i].clear();
    table.add_row(std::move(written));
    above = std::move(cells);
  }
  return table.to_string();
}

/// One row as lines "title  value"; what is empty has none.
template <class Row>
std::string fields_lines(const Fields<Row>& fields, const Row& row) {
  Table table({{}, {}});
  for (const Field<Row>& f : fields)
    if (!f.title.empty() && !f.text(row).empty()) table.add_row({f.title, f.text(row)});
  return table.to_string();
}

/// A table that scrolls by itself where a page is narrow; the first field heads its row.
template <class Row>
std::string fields_html(const Fields<Row>& fields, const std::vector<Row>& rows, const std::string& label) {
  std::string html = html_table_begin(label);
  for (const Field<Row>& f : fields)
    if (!f.title.empty()) html += html_column(f.title, &f != &fields.front() && f.align == Table::Align::left);
  html += "</tr></thead>\n<tbody>\n";
  for (const Row& row : rows) {
    html += "<tr>";
    for (const Field<Row>& f : fields)
      if (!f.title.empty())
        html += f.html                  ? f.html(row)
                : &f == &fields.front() ? html_row_name(escaped_markup(f.text(row)))
                                        : html_cell(escaped_markup(f.text(row)), f.align == Table::Align::left);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace fib::report
