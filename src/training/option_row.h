// SPDX-License-Identifier: Apache-2.0
// A row describes one option of a group of settings. Each group lists its rows beside the code that uses them; the
// table of options.h joins the groups of a Recipe.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fib::training {

/// Two numbers, low <= high.
struct Span {
  double low = 0;
  double high = 1;
  friend bool operator==(const Span&, const Span&) = default;
};

/// Numbers from least to most; an open end excludes the number itself.
struct Interval {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open_least = false;
  bool open_most = false;
};

// Counts are bounded: a value that does not fit the integer type at its use would silently become another one.
inline constexpr double kLargestCount = 2147483647;
inline constexpr Interval kPositive{.least = 0, .open_least = true};
inline constexpr Interval kNotNegative{.least = 0};
inline constexpr Interval kCount{.least = 1, .most = kLargestCount};
inline constexpr Interval kCountOrNone{.least = 0, .most = kLargestCount};
inline constexpr Interval kSide{.least = 0, .most = 16384};  // as in the metadata of weights, src/models/card.cpp
inline constexpr Interval kShare{.least = 0, .most = 1};
inline constexpr Interval kPositiveShare{.least = 0, .most = 1, .open_least = true};
inline constexpr Interval kRate{.least = 0, .most = 1, .open_most = true};

template <class Group>
struct OptionRow {
  using Field = std::variant<std::string Group::*, int64_t Group::*, double Group::*, bool Group::*, Span Group::*,
                             std::vector<double> Group::*>;

  // A constructor in place of default member initializers, which end GCC 12 with an internal error in templates.
  OptionRow(std::string name, Field member, std::string meaning, Interval numbers = {},
            std::vector<std::string> words = {}, bool changes_result = true)
      : key(std::move(name)),
        field(member),
        help(std::move(meaning)),
        interval(numbers),
        choices(std::move(words)),
        decides_result(changes_result) {}

  std::string key;
  Field field;
  std::string help;
  Interval interval;                 ///< of numbers
  std::vector<std::string> choices;  ///< of words; empty accepts any
  bool decides_result;               ///< a run can only be resumed with the same value
};

template <class Group>
using OptionRows = std::vector<OptionRow<Group>>;

}  // namespace fib::training
