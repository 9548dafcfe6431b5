// SPDX-License-Identifier: Apache-2.0
#include "patterns/options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "base/nearest.h"

namespace fib {
namespace {

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_integer(const std::string& text, int64_t tokens) {
  if (text == "N") return tokens;
  if (text.rfind("N/", 0) != 0) return parse_number<int64_t>(text);
  const auto divisor = parse_number<int64_t>(text.substr(2));
  if (!divisor || *divisor < 1) return std::nullopt;
  return std::max<int64_t>(1, tokens / *divisor);
}

std::vector<std::string> option_keys(const PatternInfo& info) {
  std::vector<std::string> keys;
  for (const PatternOption& o : info.options) keys.push_back(o.key);
  return keys;
}

}  // namespace

OptionValues::OptionValues(const PatternInfo& info, const AttentionSpec& spec, int64_t tokens)
    : info_(info), spec_(spec), tokens_(tokens) {
  for (const auto& [key, value] : spec.options) {
    if (info.options.empty())
      throw std::invalid_argument("attention " + info.name + " has no options, got '" + key + "'");
    if (!has(key))
      throw std::invalid_argument("attention " + info.name + ": " + unknown_name("option", key, option_keys(info)));
    const auto same = [&, k = key](const auto& o) { return o.first == k; };
    if (std::count_if(spec.options.begin(), spec.options.end(), same) > 1) {
      throw std::invalid_argument("attention " + info.name + ": option '" + key + "' is given twice");
    }
  }
}

bool OptionValues::has(const std::string& key) const {
  return std::any_of(info_.options.begin(), info_.options.end(), [&](const auto& o) { return o.key == key; });
}

bool OptionValues::given(const std::string& key) const {
  return std::any_of(spec_.options.begin(), spec_.options.end(), [&](const auto& o) { return o.first == key; });
}

std::string OptionValues::text(const std::string& key) const {
  for (const auto& [k, value] : spec_.options) {
    if (k == key) return value;
  }
  const auto row =
      std::find_if(info_.options.begin(), info_.options.end(), [&](const auto& o) { return o.key == key; });
  if (row == info_.options.end()) throw std::logic_error("attention " + info_.name + " declares no option " + key);
  return row->default_text;
}

void OptionValues::refuse(const std::string& key, const std::string& accepted) const {
  throw std::invalid_argument("attention " + info_.name + ": " + key + " must be " + accepted + ", got '" + text(key) +
                              "'");
}

int64_t OptionValues::integer(const std::string& key, int64_t least) const {
  const auto value = parse_integer(text(key), tokens_);
  if (!value || *value < least || *value > kMaxTokens) {
    refuse(key, "an integer from " + std::to_string(least) + " to " + std::to_string(kMaxTokens) + ", N or N/k");
  }
  return *value;
}

double OptionValues::ratio(const std::string& key) const {
  const auto value = parse_number<double>(text(key));
  if (!value || !(*value >= 0.0 && *value <= 1.0)) refuse(key, "a number from 0 to 1");
  return *value;
}

std::string OptionValues::choice(const std::string& key, const std::vector<std::string>& accepted) const {
  std::string value = text(key);
  if (std::find(accepted.begin(), accepted.end(), value) != accepted.end()) return value;
  std::string list;
  for (const std::string& a : accepted) list += (list.empty() ? "" : " or ") + a;
  refuse(key, list);
}

}  // namespace fib
