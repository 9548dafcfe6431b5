// SPDX-License-Identifier: Apache-2.0
// What `fib analyze inductive-bias` can be told; cli/torch/analyze_inductive_bias.cpp does it.
#pragma once

#include <string>

#include "cli/analyze_options.h"
#include "cli/command.h"

namespace fib::cli {

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

inline Command analyze_inductive_bias_command() {
  return torch_command<BiasArguments>(
      {"analyze inductive-bias", "how evenly the patches of an object attend to each other", Topic::trained}, declare);
}

}  // namespace fib::cli
