// SPDX-License-Identifier: Apache-2.0
#include "cli/analyze_options.h"

namespace fib::cli {

void add_analyze_options(CLI::App& app, AnalyzeArguments& a, int64_t images) {
  a.images = images;
  add_subject_options(app, a.subjects, Subjects::many);
  add_integer(app, "--images", a.images, {1, 10'000'000}, "of the test set, evenly chosen")->capture_default_str();
  app.add_flag("--json", a.json, "for machines");
}

void add_layer_option(CLI::App& app, AnalyzeArguments& a) {
  add_integer(app, "--layer", a.layer, {1, 1000}, "counted from 1; the last by default");
}

void add_plot_option(CLI::App& app, AnalyzeArguments& a, const std::string& help) {
  app.add_option("--plot", a.plots, help + " as .svg or .png; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

}  // namespace fib::cli
