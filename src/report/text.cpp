// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/text.h"

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

namespace {

std::string counted(int64_t n, const char* noun) { return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s"); }

/// The first `front` and the last `back` of the numbers.
std::string shortened(const std::vector<int64_t>& numbers, size_t front, size_t back, const std::string& ellipsis) {
  const std::vector<int64_t> head(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(front));
  const std::vector<int64_t> tail(numbers.end() - static_cast<ptrdiff_t>(back), numbers.end());
  return fmt::format("{} {} {} ({})", fmt::join(head, " "), ellipsis, fmt::join(tail, " "),
                     grouped(static_cast<int64_t>(numbers.size())));
}

std::string fitted(const std::vector<int64_t>& numbers, size_t width, const std::string& ellipsis) {
  // A number and its blank take two columns at least, so longer lists need not be written to be seen not to fit.
  if (numbers.size() <= width) {
    std::string all = fmt::format("{}", fmt::join(numbers, " "));
    if (all.size() <= width) return all;
  }
  for (size_t front = 6; front > 1; --front) {
    if (numbers.size() < front + 2) continue;
    std::string some = shortened(numbers, front, 1, ellipsis);
    if (some.size() <= width) return some;
  }
  return numbers.size() > 2 ? shortened(numbers, 1, 1, ellipsis) : fmt::format("{}", fmt::join(numbers, " "));
}

}  // namespace

std::string emphasized(const std::string& text, Emphasis emphasis, bool color) {
  if (!color) return text;
  return (emphasis == Emphasis::error ? "\033[1;31m" : "\033[1m") + text + "\033[0m";
}

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first + 3;) text.insert(i -= 3, 1, ',');
  return text;
}

std::string bytes(int64_t count) {
  if (count < 1024) return counted(count, "byte");
  double value = static_cast<double>(count);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit < 3; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string describe_support(const std::string& name, const SupportSet& s) {
  std::string text = name + ", " + counted(s.patches(), "token");
  if (s.cls() > 0) text += " + " + counted(s.cls(), "class token");
  return text + ", " + counted(s.num_heads(), "head") + (s.causal() ? ", causal" : "");
}

std::string describe_keys(const SupportSet::Head& head, size_t width, const std::string& ellipsis) {
  std::vector<int64_t> offsets;
  if (head.diagonal) offsets.push_back(0);
  offsets.insert(offsets.end(), head.offsets.begin(), head.offsets.end());
  std::string listed = head.pairs.empty() ? "" : grouped(head.pairs.size()) + " listed";
  if (!head.neighbors.empty()) listed += (listed.empty() ? "" : " + ") + std::string("neighbors");
  if (offsets.empty()) return listed.empty() ? "no offsets" : listed;
  if (!listed.empty()) listed = " + " + listed;
  const size_t room = width > listed.size() ? width - listed.size() : 0;
  return fitted(offsets, room, ellipsis) + listed;
}

}  // namespace fib::report
