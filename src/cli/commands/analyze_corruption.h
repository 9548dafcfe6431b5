// SPDX-License-Identifier: Apache-2.0
// What `fib analyze corruption` can be told; cli/torch/analyze_corruption.cpp does it.
#pragma once

#include <string>

#include "analysis/corruption_sets.h"
#include "cli/analyze_options.h"
#include "cli/command.h"

namespace fib::cli {

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
  add_integer(command, "--seed", a.sets.seed, {0, INT64_MAX}, "of the corruptions made here")->capture_default_str();
  command.footer(
      "Published files are used where they lie: --published, else CIFAR-10-C or CIFAR-100-C below the data root. "
      "Otherwise\nthe clean test images are corrupted with the published parameters; frost has a texture of ours.\n"
      "Example: fib analyze corruption --run runs/full --run runs/fibottention --images 1000 --plot corruption.svg");
}

inline Command analyze_corruption_command() {
  return torch_command<CorruptionArguments>(
      {"analyze corruption", "accuracy on noisy, blurred, snowed-in images", Topic::trained}, declare);
}

}  // namespace fib::cli
