// SPDX-License-Identifier: Apache-2.0
#include "data/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
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

Json parse(const std::filesystem::path& file) {
  constexpr size_t kLongest = size_t{1} << 24;  // 21,000 names of ImageNet-21k take a tenth of it
  Json json = parse_json_or_discard(read_file(file, kLongest));
  if (json.is_discarded()) refuse(file, "not valid JSON");
  return json;
}

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

}  // namespace

std::vector<std::string> read_labels(const std::filesystem::path& file) {
  const Json json = parse(file);
  if (!json.is_array() && !json.is_object()) refuse(file, "accepted are an array of names or an object {\"0\": …}");
  if (json.empty()) refuse(file, "it names no classes");
  const Json values = json.is_object() ? by_index(json, file) : json;
  std::vector<std::string> names;
  for (const Json& value : values) names.push_back(name_of(value, file, std::to_string(names.size())));
  return names;
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
