// SPDX-License-Identifier: Apache-2.0
// A table of text whose columns stand straight, also with letters of several bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fib::report {

/// Columns a terminal needs for UTF-8 text: its code points.
size_t display_width(std::string_view text);

class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as there are columns. What cannot be printed is shown as escapes.
  void add_row(std::vector<std::string> cells);
  /// The header unless all titles are empty, then the rows; no blanks at the ends of lines.
  std::string to_string() const;

 private:
  std::vector<size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace fib::report
