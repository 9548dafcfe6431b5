// SPDX-License-Identifier: Apache-2.0
#include "report/wythoff_table.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

#include "fibottention/pattern.h"
#include "report/table.h"

namespace fib::report {
namespace {

/// With these the largest element, of the last row and column, is below 2⁶³.
constexpr int64_t kMaxRows = 10000, kMaxColumns = 60;

struct Size {
  int64_t rows = 0;
  int64_t columns = 0;
};

Size parse_size(const std::string& text) {
  Size size;
  const char* end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, size.rows);
  const bool crossed = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto columns = crossed ? std::from_chars(rows.ptr + 1, end, size.columns) : rows;
  const bool whole = crossed && columns.ec == std::errc() && columns.ptr == end;
  if (whole && size.rows >= 1 && size.rows <= kMaxRows && size.columns >= 1 && size.columns <= kMaxColumns) return size;
  throw std::invalid_argument(
      fmt::format("--array must be ROWSxCOLS from 1x1 to {}x{}, got '{}'", kMaxRows, kMaxColumns, text));
}

std::vector<int64_t> row_elements(SequenceStart start, int64_t columns) {
  std::vector<int64_t> elements;
  for (int64_t x = start.a, y = start.b; static_cast<int64_t>(elements.size()) < columns;) {
    elements.push_back(x);
    const int64_t next = x + y;
    x = std::exchange(y, next);
  }
  return elements;
}

}  // namespace

WythoffTable wythoff_table(const std::string& text, bool modified) {
  const Size size = parse_size(text);
  WythoffTable table{modified, {}};
  for (int64_t i = 1; i <= size.rows; ++i) {
    table.rows.push_back(row_elements(modified ? modified_wythoff_row(i) : wythoff_row(i), size.columns));
  }
  return table;
}

nlohmann::ordered_json WythoffTable::to_json() const {
  return {{"rows", rows.size()}, {"columns", rows.front().size()}, {"modified", modified}, {"array", rows}};
}

std::string WythoffTable::to_string() const {
  std::vector<Table::Column> columns(rows.front().size() + 1, {"", Table::Align::right});
  Table table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells = {fmt::format("{}:", i + 1)};
    for (int64_t e : rows[i]) cells.push_back(std::to_string(e));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

}  // namespace fib::report
