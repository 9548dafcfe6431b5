// SPDX-License-Identifier: Apache-2.0
// Text in and out: numbers read from it, what may go to a terminal or into a message, words for a shell.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
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

// ---- Text from outside (names in files, names of files, keys, labels) on its way to a terminal or into a message

/// The longest text from outside that a message quotes, in characters.
inline constexpr size_t kLongestQuote = 60;

/// The text on one line that cannot move the cursor, color the screen or reorder what is read: bytes that are not
/// UTF-8, control characters (C0, DEL, C1), line separators, invisible characters and changes of the writing direction
/// become \xNN, byte by byte; all else stays as it is. More than `max` characters are cut, with "…" in place of the
/// rest.
std::string printable(std::string_view text, size_t max);

/// The same in single quotes, cut at kLongestQuote.
std::string in_quotes(std::string_view text);

// ---- Words as a line that a person can paste into a shell

/// As a POSIX shell reads it back.
std::string shell_word(const std::string& word);
std::string shell_line(std::span<const std::string> words);

}  // namespace fib
