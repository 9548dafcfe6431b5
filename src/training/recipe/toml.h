// SPDX-License-Identifier: Apache-2.0
// Recipes as TOML files: any option of the table below the heading of its section.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "training/recipe/recipe.h"

namespace fib::training {

/// Sets what the text says and leaves the rest. Throws std::invalid_argument with file, line and the nearest key for an
/// unknown one, and for a value that its option does not accept.
void read_toml(Recipe& recipe, const std::string& text, const std::string& file);
/// Throws std::runtime_error when the file cannot be read.
void read_toml_file(Recipe& recipe, const std::filesystem::path& file);

/// Every option, with its help as a comment: reading it gives an equal recipe.
std::string write_toml(const Recipe& recipe);

/// The keys in which two recipes differ, of those that decide the result.
std::vector<std::string> differing_keys(const Recipe& a, const Recipe& b);

}  // namespace fib::training
