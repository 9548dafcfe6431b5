// SPDX-License-Identifier: Apache-2.0
// What `fib train` can be told; cli/torch/train.cpp does it.
#pragma once

#include "cli/command.h"
#include "cli/train_options.h"

namespace fib::cli {

inline void declare(CLI::App& command, TrainArguments& a) {
  add_train_options(command, a, RecipeHelp::all);
  command.footer(
      "Ctrl-C finishes the step, saves and exits with 130 (SIGTERM: 143); --resume continues to the same bits.\n"
      "Several processes: torchrun --no_python --nproc_per_node 2 fib train …\n"
      "Example: fib train --recipe fashion-mnist --attention full --out runs/full");
}

inline Command train_command() {
  return torch_command<TrainArguments>({"train", "train a model, or continue where a run was left", Topic::training},
                                       declare);
}

}  // namespace fib::cli
