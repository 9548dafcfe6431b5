// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "report/drawing.h"

namespace fib::report {
namespace {

std::string base64(const std::string& bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 3; ++j) group = group << 8 | (j < bytes.size() ? static_cast<uint8_t>(bytes[j]) : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) text += kLetters[group >> shift & 63U];
  }
  // Letters that hold nothing of the bytes are marked.
  for (size_t k = 0; k < (3 - bytes.size() % 3) % 3; ++k) text[text.size() - 1 - k] = '=';
  return text;
}

}  // namespace

namespace {

/// Configurations have several lines and any length.
std::string printable_lines(const std::string& text) {
  std::string lines;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find('\n', begin);
    if (begin > 0) lines += '\n';
    lines += printable(std::string_view(text).substr(begin, end - begin), SIZE_MAX);
  }
  return lines;
}

}  // namespace

std::string escaped_markup(const std::string& text) {
  std::string out;
  for (char c : printable_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string png_uri(const std::string& png) { return "data:image/png;base64," + base64(png); }

std::string html_table_begin(const std::string& label) {
  return "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"" + escaped_markup(label) +
         "\"><table>\n<thead><tr>";
}

std::string html_column(const std::string& title, bool words) {
  return std::string("<th scope=\"col\"") + (words ? " class=\"words\"" : "") + ">" + escaped_markup(title) + "</th>";
}

std::string html_row_name(const std::string& content) { return "<th scope=\"row\">" + content + "</th>"; }

std::string html_cell(const std::string& content, bool words) {
  return (words ? "<td class=\"words\">" : "<td>") + content + "</td>";
}

}  // namespace fib::report
