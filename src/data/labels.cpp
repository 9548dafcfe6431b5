// SPDX-License-Identifier: Apache-2.0
#include "data/labels.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "base/checked.h"
#include "base/mapped_file.h"

namespace fib {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& reason) {
  throw std::runtime_error("labels '" + file.string() + "': " + reason);
}

Json parse(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size());
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) fail(file, "not valid JSON");
  return json;
}

/// A name, or the last of [WordNet id, name].
std::string name_of(const Json& value, const std::filesystem::path& file, const std::string& index) {
  const Json& name = value.is_array() && !value.empty() ? value.back() : value;
  if (!name.is_string()) fail(file, "class " + in_quotes(index) + " is neither a name nor [id, name]");
  return name.get<std::string>();
}

}  // namespace

std::vector<std::string> read_labels(const std::filesystem::path& file) {
  const Json json = parse(file);
  if (!json.is_array() && !json.is_object()) fail(file, "accepted are an array of names or an object {\"0\": …}");
  if (json.empty()) fail(file, "it names no classes");
  std::vector<std::string> names;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string index = std::to_string(i);
    if (json.is_object() && !json.contains(index))
      fail(file, "class '" + index + "' is missing, accepted are indices 0 to " + std::to_string(json.size() - 1));
    names.push_back(name_of(json.is_object() ? json[index] : json[i], file, index));
  }
  return names;
}

}  // namespace fib
