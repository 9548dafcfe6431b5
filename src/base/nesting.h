// SPDX-License-Identifier: Apache-2.0
// How deep a text of others nests, asked before it is parsed: what a parser makes of it is copied and destroyed by
// recursion, and a megabyte of brackets exhausts the stack.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fib {

/// Values within values. What is read here has up to five levels; a stack of 8 MiB ends at some 20,000.
inline constexpr int kMaxNesting = 64;

/// Whether brackets and braces, those in strings not counted, are open more than kMaxNesting deep.
bool json_nests_too_deeply(std::string_view json);

/// Every dot may be the next level of a key, a.b.c, which TOML's own limit of nesting does not count. Recipes hold
/// some fifty dots, most of them in numbers.
inline constexpr std::ptrdiff_t kMaxTomlDots = 4096;

/// Throws std::invalid_argument naming the file.
void check_toml_nesting(std::string_view toml, const std::string& file);

}  // namespace fib
