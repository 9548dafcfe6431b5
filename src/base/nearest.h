// SPDX-License-Identifier: Apache-2.0
// What a person most likely meant: registries and the command line answer an unknown name with the nearest known one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fib {

/// The fewest insertions, deletions, substitutions and swaps of neighbours (Levenshtein, and the slip typists make
/// most) that turn one word into the other, in bytes.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the fewest edits, the first among equals; none when even that one is mostly another word.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// One line: unknown <kind> '<word>', did you mean '…'? Known: a, b, c
std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& candidates);

}  // namespace fib
