// SPDX-License-Identifier: Apache-2.0
// The table of options. Each option is one row of its group and yields its parser, help text, flag and line in a TOML
// file: recipes, and the config.toml of a run.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "training/recipe/recipe.h"

namespace fib::training {

/// Where a recipe keeps a value.
template <class T>
struct Field {
  std::function<const T&(const Recipe&)> read;
  std::function<T&(Recipe&)> write;
};

struct Option {
  using Numbers = std::vector<double>;
  using Value = std::variant<std::string, int64_t, double, bool, Span, Numbers>;

  std::string section;
  std::string key;
  std::variant<Field<std::string>, Field<int64_t>, Field<double>, Field<bool>, Field<Span>, Field<Numbers>> field;
  std::string help;
  Interval interval{};
  std::vector<std::string> choices{};
  bool decides_result = true;

  /// "--min-lr"
  std::string flag() const;
  template <class T>
  bool holds() const {
    return std::holds_alternative<Field<T>>(field);
  }
  /// What it accepts, for messages: "a number above 0 and at most 1".
  std::string accepted() const;

  Value get(const Recipe& recipe) const;
  /// Throws std::invalid_argument, naming key, value and what is accepted.
  void set(Recipe& recipe, const Value& value) const;
  /// The same for text as it is typed on a command line; a comma divides numbers.
  void parse(Recipe& recipe, std::string_view text) const;
};

/// In the order of help and config.toml, section by section.
const std::vector<Option>& options();

/// An option that had another name in earlier versions.
struct RenamedOption {
  std::string before, now;
};
const std::vector<RenamedOption>& renamed_options();
/// "--grad-clip" for "--clip"; none for a flag that was never another.
std::optional<std::string> renamed_flag(std::string_view flag);

/// "--weights" for "--pretrained": what other programs call an option; none for what no other calls so.
std::optional<std::string> usual_flag(std::string_view flag);

/// Throws std::invalid_argument for an unknown key with the nearest one, and for a former one with its new name.
const Option& find_option(std::string_view key);

/// As TOML writes it, and as `parse` reads it but for quotes and brackets. Numbers survive the round trip to the bit.
std::string to_toml(const Option::Value& value);

/// Throws std::invalid_argument for options that contradict each other.
void check_recipe(const Recipe& recipe);

// ---- TOML files: each option below the heading of its section

/// Recipes need the names of today. The config.toml of a run may have been written by an earlier version.
enum class OptionNames { current, current_or_former };

/// Sets what the text says and leaves the rest. Throws std::invalid_argument with file, line and the nearest key for an
/// unknown one, and for a value that its option does not accept.
void read_toml(Recipe& recipe, const std::string& text, const std::string& file,
               OptionNames names = OptionNames::current);
/// Throws std::runtime_error when the file cannot be read.
void read_toml_file(Recipe& recipe, const std::filesystem::path& file, OptionNames names = OptionNames::current);

/// Every option, with its help as a comment: reading it gives an equal recipe.
std::string write_toml(const Recipe& recipe);

/// The keys in which two recipes differ, of those that decide the result.
std::vector<std::string> differing_keys(const Recipe& a, const Recipe& b);

}  // namespace fib::training
