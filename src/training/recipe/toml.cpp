// SPDX-License-Identifier: Apache-2.0
#include <toml++/toml.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "base/json.h"
#include "base/nearest.h"
#include "base/read_file.h"
#include "base/text.h"
#include "training/recipe/options.h"
#include "training/recipe/recipe_files.h"

namespace fib::training {
namespace {

constexpr const char* kRecipeEnding = ".toml";

std::string place(const std::string& file, const toml::node& node) {
  return file + ":" + std::to_string(node.source().begin.line) + ": ";
}

std::optional<Option::Value> array_value(const Option& option, const toml::array& array) {
  Option::Numbers numbers;
  for (const toml::node& node : array) {
    const auto number = node.value<double>();
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  if (!option.holds<Span>()) return numbers;
  if (numbers.size() != 2) return std::nullopt;
  return Span{numbers.front(), numbers.back()};
}

/// The node as the option's type; an integer serves as a number, nothing else is converted.
std::optional<Option::Value> value_of(const Option& option, const toml::node& node) {
  if (const auto* word = node.as_string()) return word->get();
  if (const auto* on = node.as_boolean()) return on->get();
  if (const auto* array = node.as_array()) return array_value(option, *array);
  if (option.holds<double>()) {
    if (const auto number = node.value<double>()) return *number;
  }
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  return std::nullopt;
}

/// The text of a recipe, where it stands and which names it may use.
struct Source {
  const std::string& file;
  OptionNames names;
};

std::string current_key(std::string_view key, OptionNames names) {
  if (names == OptionNames::current_or_former)
    for (const RenamedOption& renamed : renamed_options())
      if (renamed.before == key) return renamed.now;
  return std::string(key);
}

void read_value(Recipe& recipe, const std::string& section, const toml::key& key, const toml::node& node,
                const Source& source) {
  try {
    const Option& option = find_option(current_key(key.str(), source.names));
    if (option.section != section)
      throw std::invalid_argument("'" + option.key + "' belongs below [" + option.section + "], not [" + section + "]");
    const auto value = value_of(option, node);
    if (!value) throw std::invalid_argument(option.key + ": accepted " + option.accepted());
    option.set(recipe, *value);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(place(source.file, node) + error.what());
  }
}

/// ": it belongs below [optimizer]", where that is known.
std::string section_of(const std::string& key) {
  for (const Option& option : options())
    if (option.key == key) return ": it belongs below [" + option.section + "]";
  return "";
}

void require_section(const std::string& name, const toml::node& node, const std::string& file) {
  std::vector<std::string> sections;
  for (const Option& option : options())
    if (sections.empty() || sections.back() != option.section) sections.push_back(option.section);
  for (const std::string& known : sections)
    if (known == name && node.is_table()) return;
  if (node.is_table()) throw std::invalid_argument(place(file, node) + unknown_name("section", name, sections));
  throw std::invalid_argument(place(file, node) + in_quotes(name) + " stands below no section" + section_of(name));
}

}  // namespace

void read_toml(Recipe& recipe, const std::string& text, const std::string& file, OptionNames names) {
  check_toml_nesting(text, file);
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(file + ":" + std::to_string(error.source().begin.line) + ": " +
                                printable(error.description(), 200));
  }
  for (const auto& [section, node] : table) {
    require_section(std::string(section.str()), node, file);
    for (const auto& [key, value] : *node.as_table())
      read_value(recipe, std::string(section.str()), key, value, {file, names});
  }
}

void read_toml_file(Recipe& recipe, const std::filesystem::path& file, OptionNames names) {
  read_toml(recipe, read_file(file, kMaxRecipeBytes), file.string(), names);
}

std::string write_toml(const Recipe& recipe) {
  std::string text, section;
  for (const Option& option : options()) {
    if (option.section != section) {
      text += (section.empty() ? "[" : "\n[") + option.section + "]\n";
      section = option.section;
    }
    std::string line = option.key + " = " + to_toml(option.get(recipe));
    if (line.size() < 36) line.resize(36, ' ');
    text += line + "  # " + option.help + "\n";
  }
  return text;
}

std::vector<std::string> differing_keys(const Recipe& a, const Recipe& b) {
  std::vector<std::string> keys;
  for (const Option& option : options())
    if (option.decides_result && option.get(a) != option.get(b)) keys.push_back(option.key);
  return keys;
}

std::vector<std::filesystem::path> recipe_folders() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  // fib is installed in bin, fib-torch in libexec/fibottention.
  return {"recipes", here / "../recipes", here / "../share/fibottention/recipes",
          here / "../../share/fibottention/recipes"};
}

std::vector<std::string> recipe_names() {
  std::set<std::string> names;
  std::error_code unreadable;
  for (const std::filesystem::path& folder : recipe_folders())
    for (const auto& file : std::filesystem::directory_iterator(folder, unreadable))
      if (file.path().extension() == kRecipeEnding) names.insert(file.path().stem().string());
  return {names.begin(), names.end()};
}

std::filesystem::path find_recipe(const std::string& given) {
  if (given == "-") return "/dev/stdin";
  const bool is_path = given.find('/') != std::string::npos || given.ends_with(kRecipeEnding);
  if (is_path || std::filesystem::is_regular_file(given)) return given;
  for (const std::filesystem::path& folder : recipe_folders()) {
    const std::filesystem::path file = (folder / (given + kRecipeEnding)).lexically_normal();
    if (std::filesystem::is_regular_file(file)) return file;
  }
  throw std::invalid_argument(unknown_name("recipe", given, recipe_names()));
}

}  // namespace fib::training
