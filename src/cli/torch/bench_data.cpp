// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/torch/data_bench.h"
#include "cli/recipe_options.h"
#include "cli/torch/bench_frame.h"
#include "cli/torch/commands.h"

namespace fib::cli {
namespace {

struct BenchDataArguments {
  RecipeArguments recipe;
  double seconds = 5;
  bool json = false;
};

void run(const BenchDataArguments& a, const Globals& globals) {
  const training::Recipe recipe = recipe_of(a.recipe, {});
  const bench::DataBench b = bench::bench_data(recipe, a.seconds);
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"machine", machine_name()},
                                              {"threads", globals.threads},
                                              {"data", recipe.data},
                                              {"model", recipe.model},
                                              {"attention", recipe.attention},
                                              {"batch", recipe.batch},
                                              {"loader_images_per_second", b.loader_images_per_second},
                                              {"training_images_per_second", b.training_images_per_second},
                                              {"ratio", b.ratio()}}
                           .dump());
  } else if (!globals.quiet) {
    fmt::print("{}: {:.0f} images/s from the loader alone\n", recipe.data, b.loader_images_per_second);
    fmt::print("{} with {}: {:.0f} images/s in steps of training, batch {}\n", recipe.model, recipe.attention,
               b.training_images_per_second, recipe.batch);
    fmt::print("The loader is {:.1f} times as fast as training.\n", b.ratio());
  }
}

}  // namespace

void add_bench_data(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<BenchDataArguments>();
  add_recipe_options(command, a->recipe);
  command.add_option("--seconds", a->seconds, "time to spend on each of the two, about")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  command.add_flag("--json", a->json, "for machines");
  command.footer(
      "Training that waits for data wants more --workers or fewer augmentations.\n"
      "Example: fib bench data --recipe recipes/demo.toml");
  command.callback([a, &globals] { run(*a, globals); });
}

}  // namespace fib::cli
