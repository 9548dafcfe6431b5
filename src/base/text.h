// SPDX-License-Identifier: Apache-2.0
// Small things done to text in many places.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fib {

template <class Number>
std::optional<Number> parse_with_from_chars(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// For standard libraries whose from_chars reads integers only (LLVM's before 20): digits, a point, an exponent.
template <std::floating_point Number>
std::optional<Number> parse_with_strtod(const std::string& text) {
  if (text.empty() || text.find_first_not_of("+-.0123456789Ee") != std::string::npos || text[0] == '+') return {};
  char* stop = nullptr;
  const double value = std::strtod(text.c_str(), &stop);
  return stop == text.c_str() + text.size() ? std::optional(static_cast<Number>(value)) : std::nullopt;
}

/// The number that the whole text spells; none for anything before, after or beyond it.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  if constexpr (!requires(Number n, const char* c) { std::from_chars(c, c, n); }) {
    return parse_with_strtod<Number>(std::string(text));
  } else {
    return parse_with_from_chars<Number>(text);
  }
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
