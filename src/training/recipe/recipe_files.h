// SPDX-License-Identifier: Apache-2.0
// Recipes by name: in the folder the user works in, beside the sources, or where they were installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fib::training {

/// In the order in which they are searched; not all of them need to exist.
std::vector<std::filesystem::path> recipe_folders();

/// Of all recipes that are found by name, sorted.
std::vector<std::string> recipe_names();

/// The file that is meant by --recipe: a file of that name, a recipe of that name in one of the folders, or standard
/// input for "-". Throws std::invalid_argument with the nearest name where there is none.
std::filesystem::path find_recipe(const std::string& given);

}  // namespace fib::training
