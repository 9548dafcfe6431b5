// SPDX-License-Identifier: Apache-2.0
// Results as text: tables whose columns stand straight, also with letters of several bytes; numbers and support sets in
// words, the same in tables and in images.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fibottention/pattern.h"

namespace fib::report {

/// Columns a terminal needs for UTF-8 text: its code points.
size_t display_width(std::string_view text);

/// A path is shown whole, but with nothing in it that a terminal obeys.
inline constexpr size_t kLongestPath = 4096;

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

enum class Emphasis { heading, error };
/// As it is where there is no color.
std::string emphasized(const std::string& text, Emphasis emphasis, bool color);

/// With so many digits behind the point.
std::string fixed(double value, int digits);
/// 1234567 as 1,234,567.
std::string grouped(int64_t value);
/// 1.5 KiB.
std::string bytes(int64_t count);

/// "NAME, 196 tokens + 1 class token, 12 heads".
std::string describe_support(const std::string& name, const SupportSet& support);

/// The offsets of a head in at most `width` columns: "1 2 3 5", "1 2 3 … 34 55 (9)", with "0" for the diagonal and
/// "+ 196 random" for listed pairs.
std::string describe_keys(const SupportSet::Head& head, size_t width, const std::string& ellipsis);

}  // namespace fib::report
