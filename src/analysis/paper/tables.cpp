// SPDX-License-Identifier: Apache-2.0
#include "analysis/paper/tables.h"

#include <toml++/toml.h>

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::paper {
namespace {

Cell read_cell(const toml::node& node) {
  if (const auto text = node.value<std::string>()) return *text;
  return node.value<double>().value();
}

TableRow read_row(const toml::table& fields) {
  TableRow row{fields["name"].value<std::string>().value(), fields["attention"].value_or(std::string()), {}};
  for (const toml::node& cell : *fields["values"].as_array()) row.cells.push_back(read_cell(cell));
  return row;
}

Table read_table(const TableFile& file) {
  const toml::table fields = toml::parse(file.text);
  Table table{std::string(file.name), fields["label"].value_or(""), fields["caption"].value_or(""), {}, {}};
  for (const toml::node& column : *fields["columns"].as_array())
    table.columns.push_back(column.value<std::string>().value());
  for (const toml::node& row : *fields["rows"].as_array()) {
    table.rows.push_back(read_row(*row.as_table()));
    if (table.rows.back().cells.size() != table.columns.size())
      throw std::logic_error(table.name + ": row '" + table.rows.back().name + "' has not one cell for each column");
  }
  return table;
}

/// Null where the table does not have the mechanism.
const TableRow* row_about(const Table& table, const std::string& attention) {
  const auto found = std::ranges::find(table.rows, attention, &TableRow::attention);
  return found == table.rows.end() ? nullptr : &*found;
}

}  // namespace

const TableRow& Table::row(const std::string& wanted) const {
  return find_named(rows, "row of the paper's table " + name, wanted, &TableRow::name);
}

std::optional<double> Table::number(const std::string& row_name, const std::string& column) const {
  const TableRow& found = row(row_name);
  const auto place = std::find(columns.begin(), columns.end(), column);
  if (place == columns.end()) return std::nullopt;
  const double* value = std::get_if<double>(&found.cells[static_cast<size_t>(place - columns.begin())]);
  return value ? std::optional(*value) : std::nullopt;
}

const std::vector<Table>& tables() {
  static const std::vector<Table> all = [] {
    std::vector<Table> list;
    for (const TableFile& file : table_files()) list.push_back(read_table(file));
    return list;
  }();
  return all;
}

const Table& find_table(std::string_view name) {
  return find_named(tables(), "table of the paper", name, &Table::name);
}

std::optional<analysis::FiveNumbers> head_diversity(const std::string& attention) {
  const Table& table = find_table("diversity");
  const TableRow* row = row_about(table, attention);
  if (row == nullptr) return std::nullopt;
  const auto number = [&](const char* column) { return table.number(row->name, column).value(); };
  return analysis::FiveNumbers{number("Min"), number("Q1"), number("Median"), number("Q3"), number("Max")};
}

std::optional<double> inside_variance(const std::string& attention) {
  const Table& table = find_table("inductive-bias");
  const TableRow* row = row_about(table, attention);
  return row == nullptr ? std::nullopt : table.number(row->name, "Variance");
}

}  // namespace fib::paper
