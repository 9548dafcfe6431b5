// SPDX-License-Identifier: Apache-2.0
// What `fib bench model` can be told; cli/torch/bench_model.cpp does it, or cli/engine/bench_model.cpp.
#pragma once

#include <string>
#include <vector>

#include "bench/options.h"
#include "cli/engine_command.h"
#include "cli/options.h"

namespace fib::cli {

struct BenchModelArguments {
  bench::ModelBenchOptions options;
  AttentionListArguments attention{.attentions = {"fibottention"}};
  PlaceArguments place;
  std::vector<std::string> passes = {"forward"};
  std::vector<std::string> engine;  ///< compiled models instead
  std::string plot;
  bool json = false;
};

inline void declare(CLI::App& command, BenchModelArguments& a) {
  command.add_option("--model", a.options.model, "a name of fib models")->type_name("MODEL")->capture_default_str();
  add_integers(command, "--resolution", a.options.resolutions, kResolutions, "sides of square images; the model's own");
  add_attention_list_options(command, a.attention);
  add_place_options(command, a.place);
  add_integer(command, "--batch", a.options.batch, {1, 65536}, "images at once")->capture_default_str();
  add_choices(command, "--pass", a.passes, {"forward", "training"},
              "what is timed; training is a step of fib train with its default recipe")
      ->default_str("forward");
  command.add_flag("--profile", a.options.profile, "where a training step's time goes: by kind of layer, both ways");
  add_number(command, "--seconds", a.options.timing.seconds, {0.01, 3600},
             "time to spend per resolution and pass, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "for machines");
  command.add_option("--plot", a.plot, "time and memory against the resolution, as .svg or .png")->type_name("FILE");
  add_engine_option(command, a.engine,
                    {"--model", "--resolution", "--attention", "--wmin", "--wmax", "--modified", "--attention-in",
                     "--attention-layers", "--frames", "--pass", "--plot"});
  command.footer(
      "Full attention always runs too; all take turns in one run, and the shortest time of each counts.\n"
      "Memory is what making the model and one pass add to the process.\n"
      "Example: fib bench model --model vit_small_patch16_224 --resolution 224,384 --pass forward,training\n"
      "Example: fib bench model --engine vit.fib --engine vit-int8.fib --batch 1 --json");
}

void bench_model_with_engine(const BenchModelArguments& arguments, const Globals& globals);

inline Command bench_model_command() {
  return engine_or_torch_command<BenchModelArguments, bench_model_with_engine>(
      {"bench model", "a whole model with one attention and another", Topic::measures}, declare);
}

}  // namespace fib::cli
