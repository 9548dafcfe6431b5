// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "fibottention/pattern.h"

namespace fib {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::pair<std::string, std::string> parse_option(const std::string& part, const std::string& whole) {
  const size_t equals = part.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == part.size()) {
    throw std::invalid_argument("attention '" + whole + "': '" + part + "' is not key=value");
  }
  return {part.substr(0, equals), part.substr(equals + 1)};
}

}  // namespace

AttentionSpec AttentionSpec::parse(const std::string& text) {
  const size_t colon = text.find(':');
  AttentionSpec spec{text.substr(0, colon), {}};
  if (spec.name.empty()) throw std::invalid_argument("attention '" + text + "' has no name: write NAME:key=value,…");
  if (colon == std::string::npos) return spec;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    auto option = parse_option(part, text);
    const bool repeated =
        std::any_of(spec.options.begin(), spec.options.end(), [&](const auto& o) { return o.first == option.first; });
    if (repeated) throw std::invalid_argument("attention '" + text + "' gives '" + option.first + "' twice");
    spec.options.push_back(std::move(option));
  }
  return spec;
}

std::string AttentionSpec::to_string() const {
  std::string text = name;
  for (size_t i = 0; i < options.size(); ++i) {
    text += (i == 0 ? ":" : ",") + options[i].first + "=" + options[i].second;
  }
  return text;
}

}  // namespace fib
