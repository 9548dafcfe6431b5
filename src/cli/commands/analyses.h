// SPDX-License-Identifier: Apache-2.0
// `fib analyze`: the options of its parts; each part is a file of cli/torch.
#pragma once

#include <string>
#include <vector>

#include "analysis/corruption_sets.h"
#include "cli/command.h"
#include "cli/model_options.h"

namespace fib::cli {

// ---- fib analyze diversity

struct DiversityArguments : AnalyzeArguments {};

inline void declare(CLI::App& command, DiversityArguments& a) {
  add_analyze_options(command, a, 10'000);
  add_layer_option(command, a);
  add_plot_option(command, a, "a box plot");
  command.footer(
      "The mean over pairs of heads of |Yi - Yj| / (|Yi| + |Yj|), Yi what head i gives for an image; in percent.\n"
      "Example: fib analyze diversity --run runs/full --run runs/fibottention --plot diversity.svg");
}

void run(const DiversityArguments& arguments, const Globals& globals);

// ---- fib analyze inductive-bias

struct BiasArguments : AnalyzeArguments {
  std::string boxes;  ///< a CSV file; empty: the data's own boxes, or the foreground rule
};

inline void declare(CLI::App& command, BiasArguments& a) {
  add_analyze_options(command, a, 100);
  add_layer_option(command, a);
  command
      .add_option("--boxes", a.boxes,
                  "lines index,left,top,right,bottom: image of the test set from 0, pixels of the stored image")
      ->type_name("F.csv");
  command.footer(
      "Regions: boxes of tiny-imagenet, --boxes, or for grey data patches half of whose pixels exceed 25 of 255.\n"
      "Example: fib analyze inductive-bias --run runs/full --run runs/fibottention");
}

void run(const BiasArguments& arguments, const Globals& globals);

// ---- fib analyze attention-maps

struct MapsArguments {
  ModelArguments models;
  std::vector<int64_t> indices;
  std::vector<std::string> files;
  std::vector<int64_t> patch;  ///< row and column from 1; empty: the middle
  std::string out;
  bool json = false;
};

inline void declare(CLI::App& command, MapsArguments& a) {
  add_evaluated_model_options(command, a.models, HowMany::many);
  command.add_option("IMAGE", a.files, "images to look at");
  add_integers(command, "--index", a.indices, {0, INT64_MAX},
               "images of the test set to look at, counted from 0; by default the first");
  add_integers(command, "--patch", a.patch, {1, 16384},
               "row and column, counted from 1, of the patch that looks; by default the middle");
  command.add_option("-o,--out", a.out, "the drawing, .svg or .png")->type_name("FILE");
  command.add_flag("--json", a.json, "print JSON: the weights themselves");
  command.footer(
      "Example: fib analyze attention-maps --run runs/full --run runs/fibottention --index 3 --out maps.png\n"
      "Example: fib analyze attention-maps --model vit_tiny_patch16_224 --weights W.safetensors --data folder:IMAGES "
      "--patch 7,7 -o maps.svg cat.jpg");
}

void run(const MapsArguments& arguments, const Globals& globals);

// ---- fib analyze corruption

struct CorruptionArguments : AnalyzeArguments {
  analysis::CorruptionSets sets;
  std::string bars, panels;
};

inline void declare(CLI::App& command, CorruptionArguments& a) {
  add_analyze_options(command, a, 1000);
  add_plot_option(command, a, "accuracy by severity");
  command.add_option("--bars", a.bars, "accuracy by corruption as .svg or .png")->type_name("FILE");
  command.add_option("--panels", a.panels, "accuracy by corruption and severity as .svg or .png")->type_name("FILE");
  command.add_option("--corruption", a.sets.corruptions, "only these: names divided by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  add_integers(command, "--severity", a.sets.severities, {1, 5}, "only these, of 1 to 5");
  command.add_option("--published", a.sets.published, "folder with the .npy files of CIFAR-10-C or CIFAR-100-C")
      ->type_name("DIR");
  add_integer(command, "--seed", a.sets.seed, {0, INT64_MAX}, "seed of the corruptions that are made here")
      ->capture_default_str();
  command.footer(
      "Published files are used where they lie: --published, else CIFAR-10-C or CIFAR-100-C below the data root. "
      "Otherwise\nthe clean test images are corrupted with the published parameters; frost has a texture of ours.\n"
      "Example: fib analyze corruption --run runs/full --run runs/fibottention --images 1000 --plot corruption.svg");
}

void run(const CorruptionArguments& arguments, const Globals& globals);

template <class Torch>
std::vector<Command> analysis_commands() {
  return {make_group({"analyze", "the paper's analyses: diversity, inductive bias, maps, corruptions", Topic::trained},
                     "Example: fib analyze diversity --run runs/full --run runs/fibottention --plot diversity.svg"),
          torch_command<DiversityArguments, Torch>(
              {"analyze diversity", "how different the heads of a layer are", Topic::trained}),
          torch_command<BiasArguments, Torch>(
              {"analyze inductive-bias", "how evenly the patches of an object attend to each other", Topic::trained}),
          torch_command<MapsArguments, Torch>(
              {"analyze attention-maps", "where each head looks, drawn over an image", Topic::trained}),
          torch_command<CorruptionArguments, Torch>(
              {"analyze corruption", "accuracy on noisy, blurred, snowed-in images", Topic::trained})};
}

}  // namespace fib::cli
