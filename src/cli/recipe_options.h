// SPDX-License-Identifier: Apache-2.0
// The options of a training run on the command line: every row of the recipe's table is a flag.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "training/recipe/options.h"

namespace fib::cli {

struct RecipeArguments {
  std::string recipe;  ///< a TOML file; empty: none
  AttentionArguments attention;
  std::vector<std::pair<const training::Option*, std::string>> given;  ///< as typed
  const CLI::App* app = nullptr;
  std::vector<std::string> listed = {};  ///< keys that the command's help lists though their defaults are the usual
};

/// There are sixty options, and one command that lists them; others list those whose default is another there.
enum class RecipeHelp { all, what_differs };

/// --recipe and a flag per option, grouped by section. `base` holds the defaults; `arguments` must outlive the app.
void add_recipe_options(CLI::App& app, RecipeArguments& arguments, const training::Recipe& base, RecipeHelp help);

/// The file's values, then those of the command line, on top of `base`. Throws std::invalid_argument for what an option
/// does not accept.
training::Recipe recipe_of(const RecipeArguments& arguments, training::Recipe base);

}  // namespace fib::cli
