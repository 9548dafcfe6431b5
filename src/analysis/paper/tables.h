// SPDX-License-Identifier: Apache-2.0
// The numbers of the paper, every cell of every table. They stand in the .toml files of this folder, one for each
// table, and are built into the program, so that they are at hand wherever it runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analysis/statistics.h"

namespace fib::paper {

using Cell = std::variant<double, std::string>;

struct TableRow {
  std::string name;
  std::string attention;  ///< which mechanism of ours it is about; empty where it is about something else
  std::vector<Cell> cells;
};

struct Table {
  std::string name;   ///< of its file
  std::string label;  ///< in the paper's source
  std::string caption;
  std::vector<std::string> columns;  ///< "GROUP / COLUMN" where the table has groups of columns
  std::vector<TableRow> rows;

  /// Throws std::invalid_argument with the nearest name for an unknown row.
  const TableRow& row(const std::string& name) const;
  /// None where the table has no such column, or text in it. Throws for an unknown row.
  std::optional<double> number(const std::string& row, const std::string& column) const;
};

/// All tables, by name.
const std::vector<Table>& tables();

/// Throws std::invalid_argument with the nearest name for an unknown one.
const Table& find_table(std::string_view name);

/// The paper's head diversity of a mechanism in percent (ViT-B, CIFAR-10, 10,000 images), without a mean; none where
/// its table does not have the mechanism.
std::optional<analysis::FiveNumbers> head_diversity(const std::string& attention);

/// The paper's variance of attention inside objects (ViT-B, 100 images) for a mechanism; none for others.
std::optional<double> inside_variance(const std::string& attention);

/// The .toml files of this folder, from which the tables are read; CMake makes the list.
struct TableFile {
  std::string_view name, text;
};
std::vector<TableFile> table_files();

}  // namespace fib::paper
