// SPDX-License-Identifier: Apache-2.0
// The options of commands that train.
#pragma once

#include <string>

#include "cli/recipe_options.h"

namespace fib::cli {

struct TrainArguments {
  RecipeArguments recipe;
  std::string out;
  bool resume = false;
  bool json = false;
  double peer_timeout = 60;             ///< seconds
  int64_t threads = 0;                  ///< of --threads; 0: not given
  training::Recipe base = {};           ///< what options and files change
  std::string command = "train";        ///< for what is told about continuing
  std::string result = "summary.json";  ///< the file that says that a run of the command is finished
};

/// --out, --resume, --json and the recipe's options.
void add_train_options(CLI::App& command, TrainArguments& arguments, RecipeHelp help);

}  // namespace fib::cli
