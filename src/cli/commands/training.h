// SPDX-License-Identifier: Apache-2.0
// The commands that train: their options here, what they do in cli/torch/train.cpp.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/recipe_options.h"
#include "training/recipe/begin.h"

namespace fib::cli {

// ---- fib train

inline void declare(CLI::App& command, TrainArguments& a) {
  a.base = training::open_recipe(a.base);
  add_train_options(command, a, RecipeHelp::all);
  command.get_option("--out")->required(false);  // a search of a learning rate leaves no run
  command.add_flag("--find-lr", a.find_lr,
                   "train for a hundred steps while the learning rate grows from 1e-7 to 1, and say which one lets the "
                   "loss fall fastest; nothing is kept");
  command.add_option("--plot", a.plot, "with --find-lr: the loss over the learning rate, as .svg or .png")
      ->needs("--find-lr")
      ->type_name("FILE");
  command.footer(
      "What is not said follows the weights: model, attention, size of the images, mean, deviation and crop.\n"
      "Ctrl-C finishes the step, saves and exits with 130 (SIGTERM: 143); --resume continues to the same bits.\n"
      "Several processes: torchrun --no_python --nproc_per_node 2 fib train …\n"
      "Example: fib train --recipe fashion-mnist --attention full --out runs/full\n"
      "Example: fib train --recipe finetune --model vit_tiny_patch16_224 --weights W.safetensors --data folder:PHOTOS "
      "--out runs/mine\n"
      "Example: fib train --find-lr --recipe finetune --weights W.safetensors --data folder:PHOTOS --plot lr.svg");
}

void run(const TrainArguments& arguments, const Globals& globals);

// ---- fib adapt

struct AdaptArguments {
  TrainArguments train;
  double keep_accuracy = 0, speedup = 0;  ///< 0: not asked for
  int64_t choice_images = 64;
};

inline void declare(CLI::App& command, AdaptArguments& a) {
  a.train.base = training::adaptation_recipe();
  a.train.base.model.name.clear();  // that of the weights
  a.train.command = "adapt";
  a.train.result = "adaptation.json";
  a.train.recipe.listed = {
      "model",       "attention",           "attention_layers",    "weights",           "data",           "epochs",
      "adapt_ridge", "adapt_branch_epochs", "adapt_fade_fraction", "adapt_temperature", "adapt_features", "precision"};
  CLI::Option* keep = add_number(
      command, "--keep-accuracy", a.keep_accuracy, {0.01, 1},
      "choose each layer's attention: the fastest mixture that keeps this share of the accuracy before it is "
      "trained, such as 0.99; of dense attention and, for --attention NAME, NAME, NAME:grid=3 and the same "
      "with summaries of 2x2, 4x4 and 7x7");
  add_number(command, "--speedup", a.speedup, {1, 1000},
             "the same, but the most accurate mixture whose compiled model is so many times as fast, such as 1.2")
      ->excludes(keep);
  add_integer(command, "--choice-images", a.choice_images, {1, 1'000'000}, "held-out images that they measure on")
      ->capture_default_str();
  add_train_options(command, a.train, RecipeHelp::what_differs);
  command.footer(
      "Teacher and student begin with the same weights. While the pairs that the sparse attention leaves out fade,\n"
      "the student's logits and the outputs of its blocks follow the dense teacher's; labels only judge the result.\n"
      "All other options of fib train are understood too; their defaults are the same.\n"
      "Example: fib adapt --model vit_tiny_patch16_224 --weights dense.safetensors --attention fibottention "
      "--attention-layers 6-11 --data folder:DIR --out runs/adapted");
}

void run(const AdaptArguments& arguments, const Globals& globals);

// ---- fib prune

struct PruneArguments {
  TrainArguments train;
  std::string ratio;  ///< as typed; empty: the recipe's
};

inline void declare(CLI::App& command, PruneArguments& a) {
  a.train.base = training::open_recipe(training::search_recipe());
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

void run(const PruneArguments& arguments, const Globals& globals);

template <class Torch>
std::vector<Command> training_commands() {
  return {
      torch_command<TrainArguments, Torch>(
          {"train", "train a model, or continue where a run was left", Topic::training}),
      torch_command<AdaptArguments, Torch>({"adapt", "give a trained dense model a sparse attention", Topic::training}),
      torch_command<PruneArguments, Torch>({"prune", "make a smaller model of a trained one", Topic::training})};
}

}  // namespace fib::cli
