// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/commands.h"

namespace fib::cli {

void add_bench(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  command.footer("Example: fib bench attention --tokens 196,784 --json");
  CLI::App* attention = command.add_subcommand("attention", "this kernel beside dense attention and memcpy");
  attention->fallthrough();
  add_bench_attention(*attention, globals);
  CLI::App* model = command.add_subcommand("model", "a whole model with one attention and another");
  model->fallthrough();
  add_bench_model(*model, globals);
  CLI::App* data = command.add_subcommand("data", "a recipe's loader beside the steps it feeds");
  data->fallthrough();
  add_bench_data(*data, globals);
}

}  // namespace fib::cli
