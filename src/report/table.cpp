// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <algorithm>
#include <stdexcept>

#include "base/printable.h"

namespace fib::report {
namespace {

constexpr size_t kLongestCell = 300;

}  // namespace

size_t display_width(std::string_view text) {
  // Every byte that does not continue a code point begins one.
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a table's row has as many cells as it has columns");
  for (std::string& cell : cells) cell = printable(cell, kLongestCell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (const Column& c : columns_) widths.push_back(display_width(c.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string Table::to_string() const {
  const std::vector<size_t> widths = this->widths();
  const auto line = [&](auto&& cell_of) {
    std::string text;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - display_width(cell), ' ');
      text += (i ? "  " : "") + (columns_[i].align == Align::left ? cell + padding : padding + cell);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  const std::string header = line([&](size_t i) -> const std::string& { return columns_[i].title; });
  std::string text = header == "\n" ? "" : header;
  for (const auto& row : rows_) text += line([&](size_t i) -> const std::string& { return row[i]; });
  return text;
}

}  // namespace fib::report
