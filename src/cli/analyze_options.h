// SPDX-License-Identifier: Apache-2.0
// The options that the analyses of several models over many images share.
#pragma once

#include "cli/subject_options.h"

namespace fib::cli {

struct AnalyzeArguments {
  SubjectArguments subjects;
  int64_t images = 0;
  int64_t layer = 0;  ///< from 1; 0: the last
  std::vector<std::string> plots;
  bool json = false;
};

/// The subjects' options, --images and --json; `images` is how many by default.
void add_analyze_options(CLI::App& app, AnalyzeArguments& arguments, int64_t images);
void add_layer_option(CLI::App& app, AnalyzeArguments& arguments);
/// --plot, where there is something to draw.
void add_plot_option(CLI::App& app, AnalyzeArguments& arguments, const std::string& help);

}  // namespace fib::cli
