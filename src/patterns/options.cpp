// SPDX-License-Identifier: Apache-2.0
#include "patterns/options.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/nearest.h"
#include "base/text.h"
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
    throw std::invalid_argument("attention " + in_quotes(whole) + ": " + in_quotes(part) + " is not key=value");
  }
  return {part.substr(0, equals), part.substr(equals + 1)};
}

}  // namespace

AttentionSpec AttentionSpec::parse(const std::string& text) {
  const size_t colon = text.find(':');
  AttentionSpec spec{text.substr(0, colon), {}};
  if (spec.name.empty())
    throw std::invalid_argument("attention " + in_quotes(text) + " has no name: write NAME:key=value,…");
  if (colon == std::string::npos) return spec;
  for (const std::string& part : split(text.substr(colon + 1), ',')) {
    const bool file = spec.name == "offsets" && spec.options.empty() && !part.empty() && part.find('=') == part.npos;
    auto option = file ? std::pair<std::string, std::string>("file", part) : parse_option(part, text);
    const bool repeated =
        std::any_of(spec.options.begin(), spec.options.end(), [&](const auto& o) { return o.first == option.first; });
    if (repeated)
      throw std::invalid_argument("attention " + in_quotes(text) + " gives " + in_quotes(option.first) + " twice");
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

namespace {

/// Digits, N or N/k.
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
      throw std::invalid_argument("attention " + info.name + " has no options, got " + in_quotes(key));
    if (!has(key))
      throw std::invalid_argument("attention " + info.name + ": " + unknown_name("option", key, option_keys(info)));
    const auto same = [&, k = key](const auto& o) { return o.first == k; };
    if (std::count_if(spec.options.begin(), spec.options.end(), same) > 1) {
      throw std::invalid_argument("attention " + info.name + ": option " + in_quotes(key) + " is given twice");
    }
  }
}

bool OptionValues::has(const std::string& key) const {
  return std::any_of(info_.options.begin(), info_.options.end(), [&](const auto& o) { return o.key == key; });
}

const PatternOption& OptionValues::declared(const std::string& key) const {
  for (const PatternOption& o : info_.options) {
    if (o.key == key) return o;
  }
  throw std::logic_error("attention " + info_.name + " declares no option " + key);
}

const std::string* OptionValues::written(const std::string& key) const {
  for (const auto& [k, value] : spec_.options) {
    if (k == key) return &value;
  }
  return nullptr;
}

const std::string& OptionValues::text(const std::string& key) const {
  const std::string* value = written(key);
  return value != nullptr ? *value : declared(key).default_text;
}

void OptionValues::refuse(const std::string& key, const std::string& accepted) const {
  throw std::invalid_argument("attention " + info_.name + ": " + key + " must be " + accepted + ", got " +
                              in_quotes(text(key)));
}

std::optional<int64_t> OptionValues::number(const std::string& key) const {
  const std::string& value = text(key);
  const size_t comma = value.find(", ");
  if (written(key) || comma == std::string::npos) return parse_integer(value, tokens_);
  // A default of the form min(5, wmax).
  const auto first = parse_integer(value.substr(4, comma - 4), tokens_);
  return std::min(first.value(), integer(value.substr(comma + 2, value.size() - comma - 3)));
}

int64_t OptionValues::integer(const std::string& key, int64_t least) const {
  const auto value = number(key);
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

std::string OptionValues::choice(const std::string& key) const {
  const std::vector<std::string>& accepted = declared(key).words;
  std::string value = text(key);
  if (std::find(accepted.begin(), accepted.end(), value) != accepted.end()) return value;
  std::string list;
  for (const std::string& a : accepted) list += (list.empty() ? "" : " or ") + a;
  refuse(key, list);
}

std::vector<int64_t> OptionValues::sides(const std::string& key) const {
  std::vector<int64_t> numbers;
  if (text(key) == "none") return numbers;
  for (const std::string& part : split(text(key), 'x')) {
    const auto number = parse_number<int64_t>(part);
    if (!number || *number < 1 || *number > kMaxTokens || numbers.size() == 3)
      refuse(key, "none, or one to three integers from 1 to " + std::to_string(kMaxTokens) + " joined by x");
    numbers.push_back(*number);
  }
  return numbers;
}

void OptionValues::check_words() const {
  for (const PatternOption& o : info_.options)
    if (!o.words.empty()) choice(o.key);
}

}  // namespace fib
