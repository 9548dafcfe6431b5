// SPDX-License-Identifier: Apache-2.0
// What a person most likely meant: registries and the command line answer an unknown name with the nearest known one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fib {

/// The fewest insertions, deletions, substitutions and swaps of neighbours (Levenshtein, and the slip typists make
/// most) that turn one word into the other, in bytes.
size_t edit_distance(std::string_view a, std::string_view b);

/// What the word abbreviates or what abbreviates it, else the candidate with the fewest edits, the first among equals;
/// none when even that one is mostly another word.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// One line: unknown <kind> '<word>', did you mean '…'? Known: a, b, c
std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& candidates);

/// `name_of` gives a row's name: a member or a function.
template <std::ranges::forward_range Rows, class NameOf>
std::vector<std::string> names_of(const Rows& rows, NameOf name_of) {
  std::vector<std::string> names;
  names.reserve(std::ranges::size(rows));
  for (const auto& row : rows) names.emplace_back(std::invoke(name_of, row));
  return names;
}

/// The row of that name. Throws std::invalid_argument with the line above where there is none.
template <std::ranges::forward_range Rows, class NameOf>
const std::ranges::range_value_t<Rows>& find_named(const Rows& rows, std::string_view kind, std::string_view name,
                                                   NameOf name_of) {
  for (const auto& row : rows)
    if (std::invoke(name_of, row) == name) return row;
  throw std::invalid_argument(unknown_name(kind, name, names_of(rows, name_of)));
}

}  // namespace fib
