// SPDX-License-Identifier: Apache-2.0
// What `fib adapt` can be told; cli/torch/adapt.cpp does it.
#pragma once

#include "cli/command.h"
#include "cli/train_options.h"

namespace fib::cli {

struct AdaptArguments {
  TrainArguments train;
};

inline void declare(CLI::App& command, AdaptArguments& a) {
  a.train.base = training::adaptation_recipe();
  a.train.command = "adapt";
  a.train.result = "adaptation.json";
  a.train.recipe.listed = {"model",  "attention",  "attention_layers",  "weights",       "data",
                           "epochs", "adapt_fade", "adapt_temperature", "adapt_features"};
  add_train_options(command, a.train, RecipeHelp::what_differs);
  command.footer(
      "Teacher and student begin with the same weights. While the pairs that the sparse attention leaves out fade,\n"
      "the student's logits and the outputs of its blocks follow the dense teacher's; labels only judge the result.\n"
      "All other options of fib train are understood too; their defaults are the same.\n"
      "Example: fib adapt --model vit_tiny_patch16_224 --weights dense.safetensors --attention fibottention "
      "--attention-layers 6-11 --data folder:DIR --out runs/adapted");
}

inline Command adapt_command() {
  return torch_command<AdaptArguments>({"adapt", "give a trained dense model a sparse attention", Topic::training},
                                       declare);
}

}  // namespace fib::cli
