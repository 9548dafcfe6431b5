// SPDX-License-Identifier: Apache-2.0
// The table of options: each is declared once and yields its parser, help text, flag and line in config.toml.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "training/recipe/recipe.h"

namespace fib::training {

/// Numbers from least to most; an open end excludes the number itself.
struct Interval {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_least = false;
  bool open_most = false;
};

struct Option {
  using Numbers = std::vector<double>;
  using Field = std::variant<std::string Recipe::*, int64_t Recipe::*, double Recipe::*, bool Recipe::*, Span Recipe::*,
                             Numbers Recipe::*>;
  using Value = std::variant<std::string, int64_t, double, bool, Span, Numbers>;

  std::string section;
  std::string key;
  Field field;
  std::string help;
  Interval interval{};                 ///< of numbers
  std::vector<std::string> choices{};  ///< of words; empty accepts any
  bool decides_result = true;          ///< a run can only be resumed with the same value

  /// "--min-lr"
  std::string flag() const;
  bool is_switch() const { return std::holds_alternative<bool Recipe::*>(field); }
  /// What it accepts, for messages: "a number above 0 and at most 1".
  std::string accepted() const;

  Value get(const Recipe& recipe) const;
  /// Throws std::invalid_argument, naming key, value and what is accepted.
  void set(Recipe& recipe, const Value& value) const;
  /// The same for text as a person types it; a comma divides numbers.
  void parse(Recipe& recipe, std::string_view text) const;
};

/// In the order of help and config.toml; sections stand together.
const std::vector<Option>& options();

/// Throws std::invalid_argument with the nearest key for an unknown one.
const Option& find_option(std::string_view key);

/// As TOML writes it, and as `parse` reads it but for quotes and brackets. Numbers survive the round trip to the bit.
std::string to_toml(const Option::Value& value);

/// What no single option can see: throws std::invalid_argument for options that do not go together.
void check_recipe(const Recipe& recipe);

}  // namespace fib::training
