// SPDX-License-Identifier: Apache-2.0
#include "sequences/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"
#include "base/text.h"

namespace fib::sequences {
namespace {

constexpr int64_t kLargest = 2147483647;

}  // namespace

Source::Source(const std::string& text, const std::string& kind, const std::vector<std::string>& known) : kind_(kind) {
  const size_t mark = text.find('?');
  const std::string path = text.substr(0, mark);
  if (!path.starts_with(kind + ":") || path.size() == kind.size() + 1)
    throw std::invalid_argument(fmt::format("data {}: the task {} takes {}:FILE", in_quotes(text), kind, kind));
  file_ = path.substr(kind.size() + 1);
  std::string rest = mark == std::string::npos ? "" : text.substr(mark + 1);
  while (!rest.empty()) {
    const std::string item = rest.substr(0, rest.find('&'));
    rest.erase(0, item.size() + 1);
    const size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    if (std::ranges::find(known, key) == known.end())
      throw std::invalid_argument(unknown_name("option of " + kind, key, known));
    if (equals == std::string::npos || !options_.emplace(key, item.substr(equals + 1)).second)
      throw std::invalid_argument(fmt::format("{} of {}: accepted is {}=VALUE, once", in_quotes(item), kind, key));
  }
}

const std::string* Source::given(const std::string& key) const {
  const auto found = options_.find(key);
  return found == options_.end() ? nullptr : &found->second;
}

void Source::refuse(const std::string& key, const std::string& value, const std::string& accepted) const {
  throw std::invalid_argument(
      fmt::format("{} of {}: received {}, accepted {}", key, kind_, in_quotes(value), accepted));
}

int64_t Source::integer(const std::string& key, int64_t otherwise, int64_t least) const {
  const std::string* text = given(key);
  if (text == nullptr) return otherwise;
  const auto value = parse_number<int64_t>(*text);
  if (!value || *value < least || *value > kLargest)
    refuse(key, *text, fmt::format("an integer from {} to {}", least, kLargest));
  return *value;
}

double Source::share(const std::string& key, double otherwise) const {
  const std::string* text = given(key);
  if (text == nullptr) return otherwise;
  const auto value = parse_number<double>(*text);
  if (!value || !(*value >= 0 && *value < 1)) refuse(key, *text, "a number from 0 to below 1");
  return *value;
}

size_t Source::choice(const std::string& key, const std::vector<std::string>& words) const {
  const std::string* text = given(key);
  if (text == nullptr) return 0;
  const auto found = std::ranges::find(words, *text);
  if (found == words.end()) refuse(key, *text, joined(words));
  return static_cast<size_t>(found - words.begin());
}

}  // namespace fib::sequences
