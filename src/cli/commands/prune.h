// SPDX-License-Identifier: Apache-2.0
// What `fib prune` can be told; cli/torch/prune.cpp does it.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/train_options.h"

namespace fib::cli {

struct PruneArguments {
  TrainArguments train;
  std::string ratio;  ///< as typed; empty: the recipe's
};

inline void declare(CLI::App& command, PruneArguments& a) {
  a.train.base = training::search_recipe();
  a.train.command = "prune";
  a.train.result = "pruning.json";
  command
      .add_option("--ratio", a.ratio, "share of the parameters in attention and MLPs to remove, above 0 and below 1")
      ->type_name("R");
  add_train_options(command, a.train, RecipeHelp::what_differs);
  command.footer(
      "UPop: masks on the channels of heads and MLPs shrink while the model is trained; those that the loss misses "
      "least\n"
      "are removed, and DIR/pruned.safetensors is a smaller model that all commands load. Train it on with fib train.\n"
      "All other options of fib train are understood too; their defaults are the same.\n"
      "Example: fib prune --model vit_micro_patch2_28 --weights best.safetensors --ratio 0.5 --epochs 3 --out "
      "runs/half");
}

inline Command prune_command() {
  return torch_command<PruneArguments>({"prune", "make a smaller model of a trained one", Topic::training}, declare);
}

}  // namespace fib::cli
