// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/torch/data_bench.h"
#include "kernels/machine.h"

namespace fib::cli {
namespace {

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
                                              {"samples", b.samples},
                                              {"loader_images_per_second", b.loader_images_per_second},
                                              {"training_images_per_second", b.training_images_per_second},
                                              {"ratio", b.ratio()}}
                           .dump());
  } else if (!globals.quiet) {
    fmt::print("{}: {:.4g} {}/s from the loader alone\n", recipe.data, b.loader_images_per_second, b.samples);
    fmt::print("{} with {}: {:.4g} {}/s in steps of training, batch {}\n", recipe.model, recipe.attention,
               b.training_images_per_second, b.samples, recipe.batch);
    fmt::print("The loader is {:.1f} times as fast as training.\n", b.ratio());
  }
}

const TorchRunner<BenchDataArguments> bench_data_runner(run);

}  // namespace
}  // namespace fib::cli
