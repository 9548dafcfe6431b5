// SPDX-License-Identifier: Apache-2.0
// What `fib bench data` can be told; cli/torch/bench_data.cpp does it.
#pragma once

#include "cli/command.h"
#include "cli/recipe_options.h"

namespace fib::cli {

struct BenchDataArguments {
  RecipeArguments recipe;
  double seconds = 5;
  bool json = false;
};

inline void declare(CLI::App& command, BenchDataArguments& a) {
  add_recipe_options(command, a.recipe, {}, RecipeHelp::what_differs);
  add_number(command, "--seconds", a.seconds, {0.01, 3600}, "time to spend on each of the two, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      "Training that waits for data wants more --workers or fewer augmentations.\n"
      "The options of recipes are those of fib train.\n"
      "Example: fib bench data --recipe demo");
}

inline Command bench_data_command() {
  return torch_command<BenchDataArguments>(
      {"bench data", "a recipe's loader beside the steps it feeds", Topic::measures}, declare);
}

}  // namespace fib::cli
