// SPDX-License-Identifier: Apache-2.0
// `fib bench`: the options of its parts. cli/torch/bench.cpp does it; commands/predict.cpp runs compiled models.
#pragma once

#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "cli/command.h"
#include "cli/commands/trained.h"
#include "cli/model_options.h"
#include "cli/recipe_options.h"

namespace fib::cli {

// ---- fib bench attention

struct BenchAttentionArguments {
  AttentionArguments attention;
  bench::AttentionBenchOptions options;
  bool json = false;
  std::string plot;
};

inline void declare(CLI::App& command, BenchAttentionArguments& a) {
  bench::AttentionBenchOptions& o = a.options;
  add_integers(command, "--tokens", o.tokens, {1, kMaxTokens / 2}, "patch tokens N; class tokens come on top")
      ->default_str("196,784,4096");
  add_integer(command, "--heads", o.heads, {1, 1024}, "heads")->capture_default_str();
  add_integer(command, "--dim", o.dim, {1, 512}, "channels per head")->capture_default_str();
  add_integer(command, "--batch", o.batch, {1, 65536}, "samples")->capture_default_str();
  add_integer(command, "--cls", o.cls, {0, 16}, "class tokens")->capture_default_str();
  add_attention_options(command, a.attention);
  command.add_flag("--backward", o.backward, "also time forward and backward together");
  add_number(command, "--seconds", o.timing.seconds, {0.01, 3600}, "time to spend per size, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--plot", a.plot, "time and memory against N, as .svg or .png")->type_name("FILE");
  command.footer(
      "Each contestant is verified against a float64 oracle on sampled rows (max error: relative to max |v|), then all "
      "are "
      "timed in turn; then smaller sizes, to find the smallest from which sparse is faster.\nGFLOP/s count 4 d per "
      "pair forward, 14 d with backward; GB/s count q, k, v and out once.\n"
      "Example: fib bench attention --tokens 196,784,4096 --backward --plot bench.svg");
}

void run(const BenchAttentionArguments& arguments, const Globals& globals);

// ---- fib bench model

struct BenchModelArguments {
  bench::ModelBenchOptions options;
  AttentionListArguments attention{.attentions = {"fibottention"}};
  PlaceArguments place;
  std::vector<std::string> passes = {"forward"};
  std::vector<std::string> engine;  ///< compiled models instead
  EngineLimitArguments limits;
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
  add_choices(command, "--precision", a.options.precisions, {"f32", "bf16"},
              "of a training step's products; with both, the two take turns")
      ->default_str("f32");
  command.add_flag("--profile", a.options.profile,
                   "where the time goes: of a training step by kind of layer, both ways; of a compiled model by step, "
                   "with GOP/s and their share of the processor's peak in that precision");
  add_number(command, "--seconds", a.options.timing.seconds, {0.01, 3600},
             "time to spend per resolution and pass, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--plot", a.plot, "time and memory against the resolution, as .svg or .png")->type_name("FILE");
  add_engine_option(command, a.engine,
                    {"--model", "--resolution", "--attention", "--wmin", "--wmax", "--modified", "--attention-in",
                     "--attention-layers", "--tokens", "--frames", "--pass", "--precision", "--plot"});
  add_engine_limits(command, a.limits);
  command.footer(
      "Full attention always runs too; all take turns in one run, and the shortest time of each counts.\n"
      "Memory is what making the model and one pass add to the process.\n"
      "Example: fib bench model --model vit_small_patch16_224 --resolution 224,384 --pass forward,training\n"
      "Example: fib bench model --model vit_base_patch16_224 --pass training --precision f32,bf16\n"
      "Example: fib bench model --engine vit.fib --engine vit-int8.fib --batch 1 --json\n"
      "Example: fib bench model --engine vit-int8.fib --batch 1 --profile");
}

void run(const BenchModelArguments& arguments, const Globals& globals);
void run_engine(const BenchModelArguments& arguments, const Globals& globals);

// ---- fib bench policy

struct BenchPolicyArguments {
  std::string run, engine;
  bench::TimingOptions timing{};
  bool json = false;
};

inline void declare(CLI::App& command, BenchPolicyArguments& a) {
  command.add_option("--run", a.run, "directory of a run that learned a robot's task")->required()->type_name("DIR");
  command.add_option("--engine", a.engine, "what fib compile has made of it")->required()->type_name("F.fib");
  add_number(command, "--seconds", a.timing.seconds, {0.01, 3600}, "time to spend, about")->capture_default_str();
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "A decision is what one robot sees, with the sampler's steps, to the actions that it does next. Both decide at "
      "the\nbeginning of ten episodes, and must agree to 1e-4 of the actions' range; then they take turns.\n"
      "Example: fib bench policy --run runs/pusht --engine policy.fib");
}

void run(const BenchPolicyArguments& arguments, const Globals& globals);

// ---- fib bench data

struct BenchDataArguments {
  RecipeArguments recipe;
  double seconds = 5;
  bool json = false;
};

inline void declare(CLI::App& command, BenchDataArguments& a) {
  add_recipe_options(command, a.recipe, {}, RecipeHelp::what_differs);
  add_number(command, "--seconds", a.seconds, {0.01, 3600}, "time to spend on each of the two, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "Training that waits for data wants more --workers or fewer augmentations.\n"
      "The options of recipes are those of fib train.\n"
      "Example: fib bench data --recipe demo");
}

void run(const BenchDataArguments& arguments, const Globals& globals);

template <class Torch>
std::vector<Command> benchmark_commands() {
  return {make_group({"bench", "measure speed and memory: attention alone, whole models, data", Topic::measures},
                     "Example: fib bench attention --tokens 196,784 --json"),
          torch_command<BenchAttentionArguments, Torch>(
              {"bench attention", "this kernel beside dense attention and memcpy", Topic::measures}),
          engine_or_torch_command<BenchModelArguments, Torch>(
              {"bench model", "a whole model with one attention and another", Topic::measures}),
          torch_command<BenchPolicyArguments, Torch>(
              {"bench policy", "a robot's decision, compiled and by LibTorch", Topic::measures}),
          torch_command<BenchDataArguments, Torch>(
              {"bench data", "a recipe's loader beside the steps it feeds", Topic::measures})};
}

}  // namespace fib::cli
