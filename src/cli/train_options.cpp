// SPDX-License-Identifier: Apache-2.0
#include "cli/train_options.h"

namespace fib::cli {

void add_train_options(CLI::App& command, TrainArguments& arguments, RecipeHelp help) {
  command.add_option("--out", arguments.out, "directory of the run")->required()->type_name("DIR");
  command.add_flag("--resume", arguments.resume, "continue the run in --out where its last checkpoint is");
  add_number(command, "--peer-timeout", arguments.peer_timeout, {1, 86400},
             "seconds to wait for another process that gives no sign of life")
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "the summary for machines");
  add_recipe_options(command, arguments.recipe, arguments.base, help);
}

}  // namespace fib::cli
