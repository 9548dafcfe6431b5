// SPDX-License-Identifier: Apache-2.0
// What `fib report` can be told; cli/torch/report.cpp does it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"

namespace fib::cli {

struct ReportArguments {
  std::vector<std::string> directories;
  std::string out, title = "Training runs", checkpoint = "best";
  int64_t images = 2000, samples = 4;
  bool json = false;
};

inline void declare(CLI::App& command, ReportArguments& a) {
  command.add_option("DIR", a.directories, "directories of finished runs; others are compared with the first")
      ->required()
      ->expected(1, 16);
  command.add_option("-o,--out", a.out, "the page to write; - is standard output")->required()->type_name("F.html");
  command.add_option("--title", a.title, "its heading")->capture_default_str();
  add_choice(command, "--checkpoint", a.checkpoint, {"best", "model", "ema"}, "which weights of the runs")
      ->capture_default_str();
  add_integer(command, "--images", a.images, {1, 10'000'000}, "test images for confusion and mistakes")
      ->capture_default_str();
  add_integer(command, "--samples", a.samples, {1, 32}, "images with attention maps")->capture_default_str();
  command.add_flag("--json", a.json, "what was written and the figures of the runs, for machines");
  command.footer("Example: fib report runs/full runs/fibottention -o report.html");
}

inline Command report_command() {
  return torch_command<ReportArguments>(
      {"report", "one page about runs: tables, curves, maps, mistakes", Topic::trained}, declare);
}

}  // namespace fib::cli
