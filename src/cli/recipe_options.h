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
  std::string match_pairs = {};       ///< the attention whose number of pairs the recipe's is to have; empty: none
  std::string chosen_attention = {};  ///< by a measurement, in the place of --attention; empty: none
  std::vector<std::pair<const training::Option*, std::string>> given;  ///< as typed
  const CLI::App* app = nullptr;
  std::vector<std::string> listed = {};  ///< keys that the command's help lists though their defaults are the usual
};

/// One command lists all options; others list those whose default is another there.
enum class RecipeHelp { all, what_differs };

/// --recipe and a flag per option, grouped by section. `base` holds the defaults; `arguments` must outlive the app.
void add_recipe_options(CLI::App& app, RecipeArguments& arguments, const training::Recipe& base, RecipeHelp help);

/// The file's values, then those of the command line, on top of `base`. Throws std::invalid_argument for what an option
/// does not accept.
training::Recipe recipe_of(const RecipeArguments& arguments, training::Recipe base);

/// Both counts, on standard error, where pairs were matched.
void say_matched_pairs(const RecipeArguments& arguments, training::Recipe recipe);

// ---- Commands that train

struct TrainArguments {
  RecipeArguments recipe;
  std::string out;
  bool resume = false;
  bool json = false;
  bool find_lr = false;
  std::string plot;                     ///< of --find-lr
  double peer_timeout = 60;             ///< seconds
  training::Recipe base = {};           ///< what options and files change
  std::string command = "train";        ///< for what is told about continuing
  std::string result = "summary.json";  ///< the file that says that a run of the command is finished
};

/// --out, --resume, --json and the recipe's options.
void add_train_options(CLI::App& command, TrainArguments& arguments, RecipeHelp help);

}  // namespace fib::cli
