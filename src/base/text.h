// SPDX-License-Identifier: Apache-2.0
// Small things done to text in many places.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fib {

/// The number that the whole text spells; none for anything before, after or beyond it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// a, b, c
inline std::string joined(std::span<const std::string> items, std::string_view separator = ", ") {
  std::string text;
  for (const std::string& item : items) {
    if (&item != items.data()) text += separator;
    text += item;
  }
  return text;
}

}  // namespace fib
