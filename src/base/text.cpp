// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <cstdint>

namespace fib {

namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  ///< in bytes; 0 where the text does not begin with UTF-8
};

unsigned byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

/// How many bytes the first one announces, and which of its bits count.
CodePoint lead(unsigned first) {
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first < 0xe0) return {first & 0x1f, 2};
  if (first >= 0xe0 && first < 0xf0) return {first & 0x0f, 3};
  if (first >= 0xf0 && first < 0xf5) return {first & 0x07, 4};
  return {};
}

CodePoint first_code_point(std::string_view text) {
  CodePoint point = lead(byte_at(text, 0));
  if (point.length > text.size()) return {};
  for (size_t i = 1; i < point.length; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return {};
    point.value = point.value << 6 | (byte_at(text, i) & 0x3f);
  }
  constexpr uint32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point.value >= 0xd800 && point.value < 0xe000;
  const bool overlong = point.value < kShortest[point.length];
  return surrogate || overlong || point.value > 0x10ffff ? CodePoint{} : point;
}

/// Whether a terminal shows it as a character in its place, and nothing else happens.
bool is_plain(uint32_t c) {
  const auto within = [c](uint32_t first, uint32_t last) { return c >= first && c <= last; };
  const bool control = c < 0x20 || within(0x7f, 0x9f);
  const bool invisible = c == 0xad || within(0x200b, 0x200f) || within(0x2060, 0x206f) || c == 0xfeff ||
                         within(0xfff9, 0xfffb) || within(0xe0000, 0xe0fff);
  const bool noncharacter = (c & 0xfffeU) == 0xfffe || within(0xfdd0, 0xfdef);  // XML forbids most of them
  const bool separator = within(0x2028, 0x2029);
  const bool direction = c == 0x61c || within(0x202a, 0x202e);
  return !(control || invisible || noncharacter || separator || direction);
}

void append_escaped(std::string& result, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < bytes.size(); ++i) {
    result += "\\x";
    result += kDigits[byte_at(bytes, i) >> 4];
    result += kDigits[byte_at(bytes, i) & 0xf];
  }
}

}  // namespace

std::string printable(std::string_view text, size_t max) {
  std::string result;
  for (size_t shown = 0; !text.empty(); ++shown) {
    if (shown == max) return result + "…";
    const CodePoint point = first_code_point(text);
    const std::string_view bytes = text.substr(0, point.length == 0 ? 1 : point.length);
    if (point.length > 0 && is_plain(point.value))
      result += bytes;
    else
      append_escaped(result, bytes);
    text.remove_prefix(bytes.size());
  }
  return result;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text, kLongestQuote) + "'"; }

std::string shell_word(const std::string& word) {
  const char* const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string shell_line(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace fib
