// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"
#include "cli/torch_commands.h"

int main(int argc, char** argv) {
  using namespace fib::cli;
  return run_app(
      argc, argv,
      {{"pattern", "which query meets which key: table, JSON or picture", add_pattern},
       {"attend", "attention on arrays in .npy files, and its gradients", add_attend},
       {"attentions", "the attention mechanisms and their options", add_attentions},
       {"models", "the models: parameters, cost and dimensions", add_models},
       {"flops", "what a model costs, part by part, with one attention and another", add_flops},
       {"datasets", "the datasets, where they are, and how to get what is missing", add_datasets},
       in_torch_program(titles::train),
       in_torch_program(titles::prune),
       {"runs", "finished training runs side by side: table and curves", add_runs},
       in_torch_program(titles::infer),
       in_torch_program(titles::classify),
       in_torch_program(titles::eval),
       in_torch_program(titles::analyze),
       in_torch_program(titles::report),
       {"reproduce", "the paper's tables and figures, trained again and shown beside its numbers", add_reproduce},
       in_torch_program(titles::bench)});
}
