// SPDX-License-Identifier: Apache-2.0
// What `fib analyze diversity` can be told; cli/torch/analyze_diversity.cpp does it.
#pragma once

#include "cli/analyze_options.h"
#include "cli/command.h"

namespace fib::cli {

struct DiversityArguments : AnalyzeArguments {};

inline void declare(CLI::App& command, DiversityArguments& a) {
  add_analyze_options(command, a, 10'000);
  add_layer_option(command, a);
  add_plot_option(command, a, "a box plot");
  command.footer(
      "The mean over pairs of heads of |Yi - Yj| / (|Yi| + |Yj|), Yi what head i gives for an image; in percent.\n"
      "Example: fib analyze diversity --run runs/full --run runs/fibottention --plot diversity.svg");
}

inline Command analyze_diversity_command() {
  return torch_command<DiversityArguments>(
      {"analyze diversity", "how different the heads of a layer are", Topic::trained}, declare);
}

}  // namespace fib::cli
