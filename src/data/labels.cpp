// SPDX-License-Identifier: Apache-2.0
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "base/json.h"
#include "base/read_file.h"
#include "base/text.h"

namespace fib {

namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& reason) {
  throw std::runtime_error("labels '" + file.string() + "': " + reason);
}

constexpr size_t kLongest = size_t{1} << 24;  // 21,000 names of ImageNet-21k take a tenth of it

/// A name, or the last of [WordNet id, name].
std::string name_of(const Json& value, const std::filesystem::path& file, const std::string& index) {
  const Json& name = value.is_array() && !value.empty() ? value.back() : value;
  if (!name.is_string()) refuse(file, "class " + in_quotes(index) + " is neither a name nor [id, name]");
  return name.get<std::string>();
}

/// "7" and "007" are class 7: folders and the files that name them are often padded with zeros.
std::string without_padding(const std::string& key) {
  const size_t first = key.find_first_not_of('0');
  return first == std::string::npos && !key.empty() ? "0" : key.substr(std::min(first, key.size()));
}

/// An object's values by class, as an array.
Json by_index(const Json& object, const std::filesystem::path& file) {
  std::map<std::string, const Json*> found;
  for (const auto& [key, value] : object.items()) {
    if (!found.emplace(without_padding(key), &value).second)
      refuse(file, "class " + in_quotes(key) + " is there twice");
  }
  Json values = Json::array();
  for (size_t i = 0; i < object.size(); ++i) {
    const auto entry = found.find(std::to_string(i));
    if (entry == found.end())
      refuse(file, fmt::format("class '{}' is missing, accepted are indices 0 to {}", i, object.size() - 1));
    values.push_back(*entry->second);
  }
  return values;
}

/// Lines without what surrounds their text; the last may lack its end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const size_t first = line.find_first_not_of(" \t\r"), last = line.find_last_not_of(" \t\r");
    lines.push_back(first == std::string::npos ? "" : line.substr(first, last - first + 1));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// What stands between commas; a field in double quotes may hold commas, and "" for a quote.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

bool is_index(const std::string& text) { return parse_number<uint32_t>(text).has_value(); }

/// Lines "index,name"; a first line without an index is the header.
std::vector<std::string> names_of_csv(const std::vector<std::string>& lines, const std::filesystem::path& file) {
  Json object = Json::object();
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> fields = fields_of(lines[i]);
    if (i == 0 && !is_index(fields[0])) continue;
    if (fields.size() < 2 || !is_index(fields[0]))
      refuse(file, fmt::format("line {} is {}, accepted are lines index,name", i + 1, in_quotes(lines[i])));
    if (!object.emplace(without_padding(fields[0]), fields.back()).second)
      refuse(file, "class " + in_quotes(fields[0]) + " is there twice");
  }
  if (object.empty()) refuse(file, "it names no classes");
  return by_index(object, file);
}

std::vector<std::string> names_of_lines(const std::vector<std::string>& lines, const std::filesystem::path& file) {
  if (lines.empty()) refuse(file, "it names no classes");
  const auto empty = std::ranges::find(lines, std::string());
  if (empty != lines.end())
    refuse(file, fmt::format("line {} is empty, accepted is one name a line", empty - lines.begin() + 1));
  return lines;
}

std::vector<std::string> names_of_json(const std::string& text, const std::filesystem::path& file) {
  const Json json = parse_json_or_discard(text);
  if (json.is_discarded()) refuse(file, "not valid JSON");
  if (!json.is_array() && !json.is_object()) refuse(file, "accepted are an array of names or an object {\"0\": …}");
  if (json.empty()) refuse(file, "it names no classes");
  const Json values = json.is_object() ? by_index(json, file) : json;
  std::vector<std::string> names;
  for (const Json& value : values) names.push_back(name_of(value, file, std::to_string(names.size())));
  return names;
}

}  // namespace

std::vector<std::string> read_labels(const std::filesystem::path& file) {
  const std::string text = read_file(file, kLongest);
  std::string ending = file.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool like_json = first != std::string::npos && (text[first] == '[' || text[first] == '{');
  if (ending == ".json" || like_json) return names_of_json(text, file);
  const std::vector<std::string> lines = lines_of(text);
  return ending == ".csv" ? names_of_csv(lines, file) : names_of_lines(lines, file);
}

double log_sum_exp(std::span<const float> logits) {
  const double top = static_cast<double>(*std::ranges::max_element(logits));
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value) - top);
  return top + std::log(sum);
}

std::vector<RankedClass> best_classes(std::span<const float> logits, int64_t count,
                                      const std::vector<std::string>& names) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return logits[i]; });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  const double all = log_sum_exp(logits);
  std::vector<RankedClass> top;
  top.reserve(order.size());
  for (const size_t i : order) {
    const auto logit = static_cast<double>(logits[i]);
    top.push_back({static_cast<int64_t>(i), names.empty() ? "" : names[i], std::exp(logit - all), logit});
  }
  return top;
}

}  // namespace fib
